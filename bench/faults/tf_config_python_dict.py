"""A printed Python dict instead of JSON."""

from bench.fault import one_definition, told

fault = one_definition(
    str,
    causes="spec-unreadable",
    checked=told("spec-unreadable", "worker:1", None),  # such a file names nobody
)

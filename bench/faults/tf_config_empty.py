"""An empty TF_CONFIG."""

from bench.fault import one_definition, told

fault = one_definition(
    lambda _: "",
    causes="spec-unreadable",
    checked=told("spec-unreadable", "worker:1", None),  # such a file names nobody
)

"""No TF_CONFIG at all: a mirrored worker trains alone, to the end, and the others wait."""

from bench.fault import Effect, one_definition

fault = one_definition(
    lambda _: None,
    causes="spec-unreadable",  # there is no file that could be checked
    mirrored=Effect.BLOCKS,
)

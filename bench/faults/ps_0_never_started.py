"""A parameter server never comes up."""

from bench.fault import SILENT, Effect, Fault, told
from bench.starts import never

fault = Fault(
    tasks=("ps:0",),
    start=never,
    effect={
        "parameter_server": Effect.BLOCKS,
        "session": Effect.BLOCKS,
        "session_unfiltered": Effect.BLOCKS,
    },
    says={
        "check": SILENT,
        "run": told("never-started", "ps:0"),
        "attach": told("never-started refused", "ps:0"),
    },
)

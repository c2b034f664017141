"""The leader of a mirrored training, or the chief worker of a session, never comes up."""

from bench.fault import SILENT, Effect, Fault, told
from bench.starts import never

fault = Fault(
    tasks=("worker:0",),
    start=never,
    effect={
        "mirrored": Effect.BLOCKS,
        "parameter_server": Effect.BLOCKS,
        "session": Effect.BLOCKS,
        "session_unfiltered": Effect.BLOCKS,
    },
    says={
        "check": SILENT,
        "run": told("never-started", "worker:0"),
        "attach": told("never-started refused", "worker:0"),
    },
)

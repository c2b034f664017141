"""A worker is frozen (SIGSTOP, a paused container) as soon as it listens."""

from bench.fault import SILENT, Effect, Fault, told
from bench.starts import stopped

fault = Fault(
    tasks=("worker:1",),
    start=stopped,
    effect={
        "mirrored": Effect.BLOCKS,
        "parameter_server": Effect.BLOCKS,
        "session_unfiltered": Effect.BLOCKS,
    },
    says={
        "check": SILENT,
        "run": told("stalled-at-start", "worker:1"),
        "attach": told("stalled-at-start", "worker:1"),
    },
)

"""A worker that leads nobody never comes up: only a session with device filters can do without."""

from bench.fault import SILENT, Effect, Fault, told
from bench.starts import never

fault = Fault(
    tasks=("worker:1",),
    start=never,
    effect={
        "mirrored": Effect.BLOCKS,
        "parameter_server": Effect.BLOCKS,
        "session": Effect.TRAINS,
        "session_unfiltered": Effect.BLOCKS,
    },
    says={
        "check": SILENT,
        "run": told("never-started", "worker:1"),
        "attach": told("never-started refused", "worker:1"),
    },
)

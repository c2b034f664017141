"""A worker dies and comes back at its address, under a new incarnation, while the others live."""

from bench.fault import SILENT, Effect, Fault, told
from bench.starts import twice

fault = Fault(
    tasks=("worker:1",),
    start=twice,
    steps=4000,
    effect={"mirrored": Effect.DIES, "parameter_server": Effect.TRAINS},
    says={
        "check": SILENT,
        "run/mirrored": told("restarted", "worker:1"),
        "attach/parameter_server": SILENT,  # by then the chief has taken it back, and trains on
    },
)

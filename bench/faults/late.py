"""A worker comes 45 s after the others: late is not dead."""

from bench.fault import SILENT, Effect, Fault
from bench.starts import late

fault = Fault(
    tasks=("worker:1",),
    start=late,
    effect=dict.fromkeys(
        ("mirrored", "parameter_server", "session", "session_unfiltered"), Effect.TRAINS
    ),
    says={"check": SILENT, "run": SILENT},
)

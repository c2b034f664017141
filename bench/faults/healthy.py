"""None at all: what everybody must stay silent about."""

from bench.fault import SILENT, Effect, Fault

fault = Fault(
    effect=dict.fromkeys(
        ("mirrored", "parameter_server", "session", "session_unfiltered"), Effect.TRAINS
    ),
    says={"check": SILENT, "run": SILENT, "attach": SILENT},
)

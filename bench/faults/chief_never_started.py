"""The chief never comes up, and the others serve nobody."""

from bench.fault import SILENT, Effect, Fault, told
from bench.starts import never

fault = Fault(
    tasks=("chief:0",),
    start=never,
    effect={"parameter_server": Effect.BLOCKS},
    says={
        "check": SILENT,
        "run": told("never-started", "chief:0"),
        "attach": told("never-started refused", "chief:0"),
    },
)

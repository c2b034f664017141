"""gdb is attached to a task, and sits at its prompt."""

from bench.blows import debugged
from bench.strike import STOPPED_S, Strike, struck

strike = Strike(
    says={"*": struck("stopped")},
    do=debugged,
    within_s=STOPPED_S,
    needs=("gdb",),
)

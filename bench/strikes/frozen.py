"""The freezer cgroup holds a task, as `docker pause` does."""

from bench.blows import frozen
from bench.strike import STOPPED_S, Strike, struck
from bench.surroundings import cgroup

strike = Strike(
    says={"*": struck("stopped")},
    do=frozen,
    around=cgroup("freezer"),
    within_s=STOPPED_S,
    needs=("/freezer",),
)

"""A task grows until its memory cgroup kills it."""

from bench.strike import DEATH_S, Since, Strike, struck
from bench.surroundings import cgroup

strike = Strike(
    says={"*": struck("cgroup-out-of-memory")},
    commits="grow",
    options=("--grow-mb-per-s", "150"),
    around=cgroup("memory", memory__limit_in_bytes=1000 << 20),
    within_s=DEATH_S,
    since=Since.DEATH,
    foretold=("memory-pressure",),
    needs=("/memory",),
)

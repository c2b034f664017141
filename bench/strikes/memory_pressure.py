"""A task grows slowly towards its memory limit: there is time to say so."""

from bench.strike import Strike, struck
from bench.surroundings import cgroup

strike = Strike(
    says={"*": struck("memory-pressure")},
    commits="grow",
    options=("--grow-mb-per-s", "8"),
    around=cgroup("memory", memory__limit_in_bytes=1000 << 20),
    within_s=60.0,  # before it is killed
    needs=("/memory",),
)

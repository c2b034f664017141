"""A CPU cgroup lets one task have a twentieth of a core."""

from bench.blows import throttled
from bench.strike import SLOW_S, SLOW_STEPS, Strike, struck
from bench.surroundings import cgroup

strike = Strike(
    says={"session/ps": struck("ps-overloaded cpu-starved"), "*": struck("cpu-starved")},
    do=throttled,
    around=cgroup("cpu"),
    within_s=SLOW_S,
    within_steps=SLOW_STEPS,
    needs=("/cpu",),
)

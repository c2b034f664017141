"""One task takes ten times as long for its part of every step."""

from bench.strike import SLOW_S, SLOW_STEPS, Strike, struck

strike = Strike(
    says={"*": struck("straggler")},
    commits="straggler",
    within_s=SLOW_S,
    within_steps=SLOW_STEPS,
)

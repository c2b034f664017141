"""The input of one task comes too slowly: a generator that waits for each batch."""

from bench.strike import SLOW_S, SLOW_STEPS, Strike, struck

strike = Strike(
    says={"*": struck("input-starved")},
    commits="slow-input",
    options=("--slow-input-s", "1"),
    within_s=SLOW_S,
    within_steps=SLOW_STEPS,
)

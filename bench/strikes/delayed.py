"""Packets from and to a host take a fifth of a second longer each way."""

from bench.blows import delayed
from bench.strike import SLOW_S, SLOW_STEPS, Strike, struck
from bench.surroundings import hosts

strike = Strike(
    says={"*": struck("slow-path")},
    do=delayed,
    around=hosts,
    within_s=SLOW_S,
    within_steps=SLOW_STEPS,
    needs=("ip",),
)

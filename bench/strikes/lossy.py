"""A fifth of all packets from and to a host get lost."""

from bench.blows import lossy
from bench.strike import SLOW_S, SLOW_STEPS, Strike, struck
from bench.surroundings import hosts

strike = Strike(
    says={"*": struck("packet-loss")},
    do=lossy,
    around=hosts,
    within_s=SLOW_S,
    within_steps=SLOW_STEPS,
    needs=("ip",),
)

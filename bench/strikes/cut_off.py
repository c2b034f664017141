"""No packet passes any more between one task and the one it talks to; others reach both."""

from bench.blows import cut_off
from bench.fault import told
from bench.strike import STOPPED_S, Strike
from bench.surroundings import hosts

strike = Strike(
    says={
        "mirrored": told("partition", "worker:1", "worker:2"),
        "*": told("partition", "worker:1", "ps:0"),
    },
    do=cut_off,
    around=hosts,
    within_s=STOPPED_S,
    needs=("ip",),
)

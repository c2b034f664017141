"""What one task sends to the one it talks to is lost; the way back is open."""

from bench.blows import cut_one_way
from bench.fault import told
from bench.strike import STOPPED_S, Strike
from bench.surroundings import hosts

strike = Strike(
    says={
        "mirrored": told("partition", "worker:1", "worker:2"),
        "*": told("partition", "worker:1", "ps:0"),
    },
    do=cut_one_way,
    around=hosts,
    within_s=STOPPED_S,
    needs=("ip",),
)

"""A host is cut off from all the others, and nobody is told."""

from bench.blows import isolated
from bench.strike import STOPPED_S, Strike, struck
from bench.surroundings import hosts

strike = Strike(
    says={"*": struck("partition")},
    do=isolated,
    around=hosts,
    within_s=STOPPED_S,
    needs=("ip",),
)

"""A host is cut off for two seconds: a switch that learns anew."""

from bench.blows import cut_shortly
from bench.fault import SILENT
from bench.strike import Strike
from bench.surroundings import hosts

strike = Strike(
    says={"*": SILENT},
    do=cut_shortly,
    around=hosts,
    needs=("ip",),
)

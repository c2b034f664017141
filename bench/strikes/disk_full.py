"""The disk of the checkpoints fills up, and the next one does not fit."""

from bench.blows import filled
from bench.strike import DEATH_S, Since, Strike, struck
from bench.surroundings import small_disk

strike = Strike(
    says={"*": struck("disk-full")},
    do=filled,
    around=small_disk,
    within_s=DEATH_S,
    since=Since.DEATH,
    foretold=("disk-nearly-full",),
    needs=("mount",),
)

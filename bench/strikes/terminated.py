"""SIGTERM from outside: a mirrored worker swallows it and trains on, the others die of it."""

from bench.blows import signalled
from bench.fault import SILENT
from bench.strike import DEATH_S, Since, Strike, struck

strike = Strike(
    says={"mirrored": SILENT, "*": struck("killed-by-signal")},
    do=signalled("SIGTERM"),
    within_s=DEATH_S,
    since=Since.DEATH,
)

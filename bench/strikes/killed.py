"""kill -9, as an operator, a script or a full node does it."""

from bench.blows import signalled
from bench.strike import DEATH_S, Since, Strike, struck

strike = Strike(
    says={"*": struck("killed-by-signal")},
    do=signalled("SIGKILL"),
    within_s=DEATH_S,
    since=Since.DEATH,
)

"""A task ends by itself, with success, while the others still need it."""

from bench.fault import SILENT
from bench.strike import DEATH_S, Since, Strike, struck

strike = Strike(
    # Workers of a session train on without one another: one that is done is no loss.
    says={"session/worker": SILENT, "*": struck("ended-early")},
    commits="exit0",
    within_s=DEATH_S,
    since=Since.DEATH,
)

"""A task ends by itself, with success, while the others still need it."""

from bench.fault import SILENT
from bench.strike import Since, Strike, struck

MISSED_S = 10.0  # an end with code 0 is no fault before somebody misses the task

strike = Strike(
    # Workers of a session train on without one another: one that is done is no loss.
    says={"session/worker": SILENT, "*": struck("ended-early")},
    commits="exit0",
    within_s=MISSED_S,
    since=Since.DEATH,
)

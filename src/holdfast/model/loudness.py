"""How loud a standstill is told: a notice at once, a warning in time, an error at a limit.

A loop that never ends cannot be told from long work by looking at it. So how long it lasts
decides, measured against what this job has done before, and in time in which the one that is
waited for was able to run: a busy host makes everybody slow, and nobody guilty.
"""

from holdfast.model.evidence import Evidence
from holdfast.model.facts import AttemptStarted
from holdfast.model.findings import Severity

WARN_IDLE_S, WARN_WORKS_S = 45.0, 120.0
HANG_IDLE_S, HANG_WORKS_S = 300.0, 600.0
WARN_PAUSES, HANG_PAUSES = 4.0, 8.0  # of the longest that this job has made


def how_loud(evidence: Evidence, lasts_s: float, *, usual_s: float, works: bool) -> Severity:
    """`works`: it computes, reads or writes, which may well be all right for minutes."""
    hang_s = hang_after_s(evidence, usual_s=usual_s, works=works)
    if lasts_s >= hang_s:
        return Severity.ERROR
    warn_s = max(WARN_WORKS_S if works else WARN_IDLE_S, WARN_PAUSES * usual_s)
    return Severity.WARNING if lasts_s >= min(warn_s, hang_s / 2) else Severity.NOTICE


def hang_after_s(evidence: Evidence, *, usual_s: float, works: bool) -> float:
    """As the user said; else some minutes, or many times its longest pause."""
    longest_s = max(HANG_WORKS_S if works else HANG_IDLE_S, HANG_PAUSES * usual_s)
    return asked_hang_after_s(evidence) or longest_s


def asked_hang_after_s(evidence: Evidence) -> float:
    """The limit that the user has set; 0: none."""
    return next((fact.hang_after_s for fact in evidence.of(AttemptStarted)), 0.0)

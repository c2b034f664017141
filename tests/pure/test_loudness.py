"""How loud a standstill is told."""

import pytest
from tests.pure.stillness import W0, attempt

from holdfast.model.evidence import Evidence
from holdfast.model.findings import Severity
from holdfast.model.loudness import (
    HANG_IDLE_S,
    HANG_PAUSES,
    HANG_WORKS_S,
    WARN_IDLE_S,
    WARN_PAUSES,
    WARN_WORKS_S,
    hang_after_s,
    how_loud,
)

NOTICE, WARNING, ERROR = Severity.NOTICE, Severity.WARNING, Severity.ERROR
PLAIN = Evidence([attempt(W0)])
ASKED = Evidence([attempt(W0, hang_after_s=30.0)])


@pytest.mark.parametrize(
    ("lasts_s", "usual_s", "works", "severity"),
    [
        (5.0, 0.0, False, NOTICE),
        (WARN_IDLE_S - 1, 0.0, False, NOTICE),
        (WARN_IDLE_S, 0.0, False, WARNING),
        (WARN_IDLE_S, 0.0, True, NOTICE),
        (WARN_WORKS_S, 0.0, True, WARNING),
        (HANG_IDLE_S, 0.0, False, ERROR),
        (HANG_IDLE_S, 0.0, True, WARNING),
        (HANG_WORKS_S, 0.0, True, ERROR),
        (WARN_PAUSES * 100.0 - 1, 100.0, True, NOTICE),
        (WARN_PAUSES * 100.0, 100.0, True, WARNING),
        (HANG_PAUSES * 100.0 - 1, 100.0, False, WARNING),
        (HANG_PAUSES * 100.0, 100.0, False, ERROR),
    ],
)
def test_time_and_the_longest_pause_so_far_decide(
    *, lasts_s: float, usual_s: float, works: bool, severity: Severity
) -> None:
    assert how_loud(PLAIN, lasts_s, usual_s=usual_s, works=works) is severity


@pytest.mark.parametrize(
    ("lasts_s", "severity"), [(14.0, NOTICE), (15.0, WARNING), (29.0, WARNING), (30.0, ERROR)]
)
def test_the_users_limit_counts_for_whatever_it_does(*, lasts_s: float, severity: Severity) -> None:
    assert how_loud(ASKED, lasts_s, usual_s=100.0, works=True) is severity


def test_the_limit_is_the_users_or_minutes() -> None:
    assert hang_after_s(ASKED, usual_s=0.0, works=False) == 30.0
    assert hang_after_s(PLAIN, usual_s=0.0, works=False) == HANG_IDLE_S
    assert hang_after_s(Evidence([]), usual_s=0.0, works=True) == HANG_WORKS_S

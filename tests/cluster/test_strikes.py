"""Jobs that are struck while they train: who is accused, of what, and who is not.

The same scenarios as in `make bench-faults`, a few of every kind; test_failures.py has more of
those that die, test_links.py of those that lose each other. How soon a word comes is judged by the
bench: here a busy machine may take its time.
"""

from dataclasses import replace
from pathlib import Path

import pytest
from bench.strike_scenarios import QUICK, scenarios
from bench.striking import Scenario, strike

pytestmark = pytest.mark.cluster
PATIENCE_S = 20.0
CHOSEN = [one for one in scenarios() if one.name in QUICK]


@pytest.mark.parametrize("scenario", CHOSEN, ids=lambda one: one.name)
def test_a_struck_job_accuses_the_right_task(scenario: Scenario, tmp_path: Path) -> None:
    patient = replace(scenario, within_s=scenario.limit_s + PATIENCE_S)
    row = strike(patient, tmp_path)
    if row.lacks:
        pytest.skip(row.lacks)
    assert not row.complaint, row


def test_the_chosen_scenarios_are_all_there() -> None:
    assert {one.name for one in CHOSEN} == set(QUICK)


def test_no_two_scenarios_have_one_name() -> None:
    names = [one.name for one in scenarios()]
    assert len(names) == len(set(names))

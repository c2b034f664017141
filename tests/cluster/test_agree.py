"""Real clusters in which one task has built another model: who says so before the first step.

One of the scenarios of `make bench-agree`; it has all of them.
"""

from pathlib import Path

import pytest
from bench.agree_scenarios import QUICK, Scenario, scenarios
from bench.agreeing import tried

pytestmark = pytest.mark.cluster
CHOSEN = [one for one in scenarios() if one.name in QUICK]


@pytest.mark.parametrize("scenario", CHOSEN, ids=lambda one: one.name)
def test_a_task_that_has_built_another_model_is_named_before_anybody_trains(
    scenario: Scenario, tmp_path: Path
) -> None:
    row = tried(scenario, tmp_path)
    assert not row.lacks
    assert not row.complaint, row


def test_the_chosen_scenarios_are_all_there_and_no_two_have_one_name() -> None:
    names = [one.name for one in scenarios()]
    assert set(QUICK) < set(names)
    assert len(names) == len(set(names))

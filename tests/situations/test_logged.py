"""A program logs its exceptions into a file of its own and ends with 0: that is not healthy."""

from pathlib import Path
from typing import Any

import pytest
from bench.situations.judging import line_of, matching, wrongly_accused
from bench.situations.situation import Run
from tests.situations.conftest import TOLD_S_MAX

from holdfast.logdir.journal import read_journal
from holdfast.logdir.run_dir import open_run_dir
from holdfast.model.errors import HoldfastError
from holdfast.model.watch_facts import StepsSeen

pytestmark = pytest.mark.timeout(240)
WHO = {"logs_and_goes_on": ("worker:1",), "logs_and_ends": ("worker:0", "worker:1")}
EXCEPTION = ("ValueError", "could not convert string to float: 'n/a'")


@pytest.fixture(scope="module")
def runs(stage: Any) -> dict[str, Run]:
    return {name: stage.start(name, goes_on=False) for name in WHO}


@pytest.mark.parametrize("name", WHO)
def test_what_a_program_logged_for_itself_is_told(runs: dict[str, Run], name: str) -> None:
    run = runs[name]
    # What stands in a log before its task is first looked at may be of an earlier run.
    assert run.until(lambda one: tasks_seen(one.run_dir) == 2, TOLD_S_MAX) is not None
    (run.folder / "go").touch()
    assert run.wait(TOLD_S_MAX) == 0
    report = run.report()
    words = (*EXCEPTION, line_of(name, "float(row)"))
    told = {
        task: matching(report["findings"], culprit=task, words=words, severities=("warning",))
        for task in WHO[name]
    }
    assert any(told.values()), report["findings"]
    assert report["verdict"] != "healthy"
    assert wrongly_accused(run, but=WHO[name]) == []


def tasks_seen(run_dir: Path) -> int:
    """How many have been looked at."""
    try:
        with open_run_dir(run_dir) as opened:
            facts = read_journal(opened).facts
    except HoldfastError:
        return 0
    return len({fact.task for fact in facts if isinstance(fact, StepsSeen)})

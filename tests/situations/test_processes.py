"""What a task starts and does not look after, and errors of its calls that pass by themselves."""

from typing import Any

import pytest
from bench.situations.judging import line_of
from bench.situations.situation import Run
from tests.situations.conftest import TOLD_S_MAX, text_of, until_told

pytestmark = pytest.mark.timeout(300)
ONE = ("--workers", "1")


@pytest.fixture(scope="module")
def runs(stage: Any) -> dict[str, Run]:
    return {
        "pipe": stage.start("child_that_nobody_reads", options=ONE),
        "launcher": stage.start("launcher_of_two", options=ONE),
        "op": stage.start("op_error"),
    }


def test_a_pipe_that_nobody_reads_is_told_with_both_processes_the_line_and_the_fix(
    runs: dict[str, Run],
) -> None:
    run = runs["pipe"]
    told = until_told(run, lambda one: one["cause"] == "pipe-full")
    assert all(word in told["says"] for word in ("pid ", "child_that_nobody_reads.py:", "worker:0"))
    assert "communicate" in str(told["do"])
    run.stop()
    assert run.report()["verdict"] != "healthy"


def test_both_children_that_die_of_what_is_no_json_are_told_though_their_launcher_ends_with_0(
    runs: dict[str, Run],
) -> None:
    run = runs["launcher"]
    assert run.wait(TOLD_S_MAX) == 0
    (found,) = run.report()["findings"]
    assert (found["cause"], found["culprit"]) == ("child-failed", "worker:0")
    assert found["says"].count("JSONDecodeError: Expecting property name enclosed in double") == 2
    assert all(f"Process-{number} ended with" in found["says"] for number in (1, 2))
    assert "launcher_of_two.py:12" in str(found["do"])
    assert "json.dumps" in str(found["do"])
    assert run.report()["verdict"] != "healthy"


def test_an_error_of_an_op_is_told_with_its_line(runs: dict[str, Run]) -> None:
    run = runs["op"]
    assert run.wait(TOLD_S_MAX) == 1, run.text[-3000:]
    first = run.report()["findings"][0]
    assert (first["cause"], first["culprit"]) == ("transient-error", "worker:1"), first
    assert "UnavailableError: the storage server is busy" in first["says"]
    assert line_of("op_error", "raise ") in text_of(first)

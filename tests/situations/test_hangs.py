"""A worker that falls silent, each in another way: who, doing what at which line, who waits."""

from typing import Any

import pytest
from bench.situations.judging import line_of, wrongly_accused
from bench.situations.situation import Run
from tests.situations.conftest import text_of, until_told

pytestmark = pytest.mark.timeout(240)
SILENT = {
    "sleeps": ("sleep(3600)", "sleeps"),
    "waits_for_child": ("subprocess.run", "tail -f /dev/null"),
    "waits_for_lock": ("    with LOCK:", "it holds LOCK itself"),
    "waits_for_file": ("read_text()", "a FIFO"),
    "waits_for_socket": ("link.recv", "127.0.0.1:"),
}


@pytest.fixture(scope="module")
def runs(stage: Any) -> dict[str, Run]:
    """All at once: most of their time is spent waiting."""
    return {name: stage.start(name) for name in (*SILENT, "two_tasks")}


@pytest.mark.parametrize("name", SILENT)
def test_who_falls_silent_is_told_with_its_line_and_who_waits_for_it(
    runs: dict[str, Run], name: str
) -> None:
    line, does = SILENT[name]
    run = runs[name]
    words = ("worker:0 waits for worker:1", line_of(name, line))
    told = until_told(run, lambda one: all(word in one["says"] for word in words))
    assert told["culprit"] == "worker:1"
    assert does in text_of(told)
    assert wrongly_accused(run, but=("worker:1",)) == []
    run.stop()
    assert run.report()["verdict"] != "healthy"


def test_two_tasks_that_wait_for_each_others_locks_are_told_as_a_circle(
    runs: dict[str, Run],
) -> None:
    place = line_of("two_tasks", "flock(new")
    told = until_told(runs["two_tasks"], lambda one: one["says"].count(place) == 2)
    assert "worker:0 and worker:1 wait for each other" in told["says"]
    assert all(file in told["says"] for file in ("rows-a", "rows-b"))

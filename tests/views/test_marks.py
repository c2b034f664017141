"""The status line follows what is known of each task."""

from typing import Any

import pytest

from holdfast.model.cluster import TaskId
from holdfast.model.facts import Fact
from holdfast.model.watch_facts import StateChanged, StepsSeen
from holdfast.views.live import TaskMark
from holdfast.views.watch import state_mark

HERE: Any = {"at_s": 1.0, "host": "host-a", "task": TaskId("worker", 0)}


def changed(state: str) -> StateChanged:
    return StateChanged(state=state, before="training", says="so it is", **HERE)


@pytest.mark.parametrize(
    ("fact", "mark", "words"),
    [
        (changed("deadlocked"), "!", "deadlocked"),
        (changed("waiting"), "…", ""),
        (changed("training"), "●", "step 7"),
        (StepsSeen(step=40, source="log", **HERE), "●", "step 40"),
    ],
)
def test_a_running_task_shows_its_state(fact: Fact, mark: str, words: str) -> None:
    running = TaskMark(task="worker:0", mark="●", words="step 7")
    assert state_mark(fact, running) == TaskMark(task="worker:0", mark=mark, words=words)


def test_what_is_over_is_no_longer_shown() -> None:
    stuck = TaskMark(task="worker:0", mark="!", words="stopped")
    assert state_mark(changed("training"), stuck) == TaskMark(task="worker:0", mark="●")


def test_who_has_ended_keeps_its_mark() -> None:
    dead = TaskMark(task="worker:0", mark="✗", words="SIGKILL")
    assert state_mark(changed("waiting"), dead) == dead

"""Whose trace is taken: once, of who lives and moves, in the order in which they were told."""

from typing import Any

import pytest

from holdfast.model.cluster import TaskId
from holdfast.model.facts import Fact, StopAsked, TaskExited, TaskStarted, TimePassed
from holdfast.model.tracing import to_be_traced
from holdfast.model.watch_facts import TaskMoves, TaskSlow, TaskStill, TraceTaken

W0, W1 = TaskId("worker", 0), TaskId("worker", 1)
HERE: Any = {"at_s": 1.0, "host": "a"}
SLOW = TaskSlow(task=W1, factor=9.0, step_s=0.9, others_s=0.1, **HERE)
STILL = TaskStill(task=W1, still_s=9.0, usual_s=1.0, sign="steps", **HERE)
MOVES = TaskMoves(task=W1, still_s=9.0, **HERE)
TAKEN = TraceTaken(task=W1, folder="/p", seconds=5.0, **HERE)
EXITED = TaskExited(task=W1, exit_code=0, **HERE)
AGAIN = TaskStarted(task=W1, pid=7, **HERE)


@pytest.mark.parametrize(
    ("facts", "wanted", "task"),
    [
        ([], [], None),
        ([TimePassed(**HERE)], [W1, W0], W1),
        ([SLOW], [W1], W1),
        ([STILL], [W1], None),
        ([STILL], [W1, W0], W0),
        ([STILL, MOVES], [W1], W1),
        ([TAKEN], [W1], None),
        ([TAKEN, AGAIN], [W1, W0], W0),
        ([EXITED], [W1], None),
        ([EXITED, AGAIN], [W1], W1),
        ([StopAsked(by="x", signal=15, **HERE)], [W1], None),
    ],
)
def test_who_is_traced_next(facts: list[Fact], wanted: list[TaskId], task: TaskId | None) -> None:
    assert to_be_traced(facts, wanted) == task

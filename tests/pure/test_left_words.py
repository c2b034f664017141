"""Which exception ended a task, where the program and its log both tell of some."""

from dataclasses import replace
from typing import Any

import pytest

from holdfast.model.cluster import TaskId
from holdfast.model.evidence import Evidence
from holdfast.model.facts import LastWords, TaskExited, TaskStarted, TracebackSeen
from holdfast.model.told_facts import ExceptionLeft
from holdfast.model.tracebacks import without_graph_noise

WORKER = TaskId("worker", 1)
HERE: Any = {"host": "host-a", "task": WORKER}
STARTED = TaskStarted(at_s=0.0, pid=7, **HERE)
ENDED = TaskExited(at_s=30.0, exit_code=1, **HERE)
OWN = ExceptionLeft(at_s=9.0, exception="ValueError", message="bad", pid=7, **HERE)
CHILD = replace(OWN, pid=8)
THREAD = replace(OWN, exception="RuntimeError", thread="reader")
GUARDED = replace(OWN, exception="UnavailableError", guarded=True)
LOGGED = TracebackSeen(at_s=9.5, exception="ValueError", message="bad", line=3, **HERE)
LAST = LastWords(at_s=30.0, lines=("ValueError: bad",), **HERE)


def soon(left: ExceptionLeft) -> ExceptionLeft:
    return replace(left, at_s=29.0)


@pytest.mark.parametrize(
    ("facts", "ended_with"),
    [
        ((OWN, LOGGED), OWN),
        ((OWN, THREAD, GUARDED, CHILD), OWN),
        ((LOGGED,), LOGGED),
        ((THREAD, LOGGED), LOGGED),
        ((CHILD, LOGGED, LAST), CHILD),
        ((CHILD, LOGGED), None),
        ((soon(CHILD), soon(THREAD), soon(GUARDED)), soon(CHILD)),
        ((soon(THREAD), soon(GUARDED)), soon(THREAD)),
        ((soon(GUARDED), THREAD), soon(GUARDED)),
        ((THREAD, GUARDED), None),
        ((), None),
    ],
)
def test_what_ended_a_task_is_its_own_word_then_its_log_then_what_came_shortly_before(
    facts: tuple[TracebackSeen | LastWords, ...], ended_with: TracebackSeen | None
) -> None:
    assert Evidence((STARTED, *facts, ENDED)).last_traceback(WORKER) == ended_with


def test_of_a_task_whose_end_nobody_saw_only_its_own_word_counts() -> None:
    assert Evidence((STARTED, OWN)).last_traceback(WORKER) == OWN
    assert Evidence((STARTED, THREAD, CHILD)).last_traceback(WORKER) is None


def test_a_message_of_a_graph_is_told_without_where_the_graph_was_made() -> None:
    said = 'Graph execution error:\n\nDetected at node MatMul\n  File "x.py", line 3, in f\nbad'
    assert without_graph_noise(said) == "bad"

"""Which exception ended a task, where the program and its log both tell of some."""

from dataclasses import replace
from typing import Any

import pytest

from holdfast.model.cluster import TaskId
from holdfast.model.evidence import Evidence
from holdfast.model.facts import LastWords, TaskExited, TaskStarted, TracebackSeen
from holdfast.model.told_facts import ExceptionLeft
from holdfast.model.tracebacks import (
    INDENTED_LINES_MAX,
    MESSAGE_LINES_MAX,
    without_graph_noise,
)

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
    assert without_graph_noise(said) == "bad\n(defined at x.py:3)"


def test_of_several_nodes_that_failed_none_of_where_they_were_made_is_told() -> None:
    node = ["Detected at node 'Add' defined at:", '    File "x.py", line 3, in f', "Node: 'Add'"]
    said = "\n".join(["Graph execution error:", "", *node, *node, 21 * "=", "bad"])
    assert without_graph_noise(said) == "bad\n(defined at x.py:3)"


def test_of_a_message_without_an_end_the_first_lines_are_kept() -> None:
    assert len(without_graph_noise("bad\n" * 10_000).split("\n")) == MESSAGE_LINES_MAX
    indented = without_graph_noise("bad\n" + "  more\n" * 10_000).split("\n")
    assert len(indented) == INDENTED_LINES_MAX + 1


def test_what_went_wrong_stands_behind_where_a_large_graph_was_made() -> None:
    made = '  File "/x/lib/python3.11/site-packages/keras/a.py", line 3, in f\n' * 300
    said = f"Graph execution error:\n\nDetected at node MatMul\n{made}bad"
    assert without_graph_noise(said) == "bad"

"""The status line follows what is known of each task."""

from dataclasses import replace
from typing import Any

import pytest

from holdfast.model.cluster import TaskId
from holdfast.model.facts import (
    AttemptStarted,
    Fact,
    SignalSent,
    TaskExited,
    TaskNotStarted,
    TaskStarted,
)
from holdfast.model.finding_facts import FindingTakenBack, FindingTold
from holdfast.model.watch_facts import StateChanged, StepsSeen
from holdfast.views.task_marks import TaskMarks

W0, W1, W2 = (TaskId("worker", index) for index in range(3))
HERE: Any = {"at_s": 1.0, "host": "host-a", "task": W0}
STARTED = TaskStarted(pid=7, **HERE)
AGAIN = AttemptStarted(
    at_s=2.0, host="host-a", attempt=2, began_unix_s=1.0, tasks=("worker:0",), holdfast="0.1.0"
)
SAYS = "worker:1 and worker:2 wait for worker:0 since 6 s: it is in evaluate (train.py:88)"


def changed(state: str) -> StateChanged:
    return StateChanged(state=state, before="training", says="so it is", **HERE)


def told(severity: str = "notice", cause: str = "keeps-waiting") -> FindingTold:
    waiting = ("worker:1", "worker:2") if cause == "keeps-waiting" else ()
    return FindingTold(cause=cause, severity=severity, says=SAYS, waiting=waiting, **HERE)


def taken_back(cause: str = "keeps-waiting") -> FindingTakenBack:
    return FindingTakenBack(cause=cause, severity="notice", says=SAYS, why="it goes on", **HERE)


def steps(step: int, source: str = "log") -> StepsSeen:
    return StepsSeen(step=step, source=source, **HERE)


def seen(*facts: Fact) -> TaskMarks:
    marks = TaskMarks([W0])
    for fact in facts:
        marks.see(fact, 10.0)
    return marks


def shown(marks: TaskMarks) -> list[str]:
    return [f"{one.mark} {one.words}".rstrip() for one in marks.shown()]


@pytest.mark.parametrize(
    ("facts", "mark"),
    [
        ([], "·"),
        ([STARTED], "●"),
        ([TaskNotStarted(command="x", errno_name="ENOENT", **HERE)], "✗ not started"),
        ([STARTED, TaskExited(exit_code=0, **HERE)], "✓"),
        ([STARTED, TaskExited(exit_code=3, **HERE)], "✗ exit 3"),
        ([STARTED, TaskExited(signal=9, **HERE)], "✗ SIGKILL"),
        ([STARTED, TaskExited(**HERE)], "■ gone"),
        ([STARTED, SignalSent(signal=15, why="x", **HERE), TaskExited(signal=15, **HERE)], "■"),
        ([STARTED, changed("deadlocked")], "! deadlocked"),
        ([STARTED, steps(7), changed("waiting")], "…"),
        ([STARTED, steps(7), changed("training")], "● step 7"),
        ([STARTED, steps(7), changed("stopped"), changed("training")], "● step 7"),
        ([STARTED, steps(40)], "● step 40"),
        ([STARTED, TaskExited(signal=9, **HERE), changed("waiting")], "✗ SIGKILL"),
        ([STARTED, steps(7), told()], "! keeps-waiting"),
        ([STARTED, steps(7), told(), taken_back()], "● step 7"),
        ([STARTED, steps(7), told("warning", "two-writers")], "! two-writers step 7"),
        ([STARTED, told("error"), changed("deadlocked")], "! deadlocked"),
        ([STARTED, told(), TaskExited(signal=9, **HERE)], "✗ SIGKILL"),
    ],
)
def test_each_task_shows_how_it_stands(facts: list[Fact], mark: str) -> None:
    assert shown(seen(*facts)) == [mark]


def test_who_waits_is_marked_until_it_is_taken_back() -> None:
    marks = TaskMarks([W0, W1, W2])
    for task in (W0, W1, W2):
        marks.see(TaskStarted(at_s=0.0, host="host-a", task=task, pid=1), 0.0)
        marks.printed(task, 119)
    marks.see(told(), 1.0)
    assert shown(marks) == ["! keeps-waiting", "…", "…"]
    marks.see(taken_back(), 9.0)
    assert shown(marks) == ["● step 119"] * 3


def test_the_newest_step_is_shown_whoever_told_it() -> None:
    marks = seen(STARTED, steps(40))
    marks.printed(W0, 55)
    marks.see(steps(50), 11.0)  # seen before, told later
    assert shown(marks) == ["● step 55"]
    marks.see(steps(20, "told"), 12.0)  # the program went back to a checkpoint, and says so
    assert shown(marks) == ["● step 20"]


@pytest.mark.parametrize(
    "again",
    [
        [STARTED],
        [AGAIN, STARTED],
    ],
)
def test_a_task_that_starts_again_has_no_step_yet(again: list[Fact]) -> None:
    assert shown(seen(STARTED, steps(40), *again)) == ["●"]


def test_another_attempt_forgets_what_was_told() -> None:
    marks = seen(STARTED, told(), AGAIN, STARTED)
    assert (shown(marks), marks.news(10.0)) == (["●"], "")


def test_the_news_are_the_gravest_as_of_now() -> None:
    marks = seen(STARTED, told("warning", "two-writers"), told("notice"))
    assert marks.news(10.0).startswith("warning: ")
    marks.see(taken_back("two-writers"), 11.0)
    assert marks.news(75.0) == f"notice: {SAYS.replace('6 s', '1 min 11 s')}"
    marks.see(taken_back(), 80.0)
    assert marks.news(81.0) == ""


def test_only_what_is_still_true_is_told_to_who_joins() -> None:
    marks = seen(told(), told(cause="livelock"), taken_back("livelock"))
    assert not marks.is_taken_back("keeps-waiting", "worker:0")
    assert marks.is_taken_back("livelock", "worker:0")
    assert not marks.is_taken_back("livelock", None)
    of_nobody = seen(replace(taken_back("two-writers"), task=None, place="summaries in /data"))
    assert of_nobody.is_taken_back("two-writers", "summaries in /data")
    assert not of_nobody.is_taken_back("two-writers", "checkpoints in /data")
    of_old = seen(replace(taken_back("two-writers"), task=None))
    assert of_old.is_taken_back("two-writers", "summaries in /data")
    again = seen(told(cause="livelock"), taken_back("livelock"), told(cause="livelock"))
    assert not again.is_taken_back("livelock", "worker:0")

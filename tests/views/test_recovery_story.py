"""What was done about failures, in the report, on the terminal and as a page."""

import os
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC
from typing import Any

import pytest

from holdfast.model.cluster import TaskId
from holdfast.model.facts import AttemptStarted, Fact, TaskExited, TaskStarted, TimePassed
from holdfast.model.recovery_facts import CheckpointChosen, RemedyAnswered, RemedyDecided
from holdfast.views.asking import Asking
from holdfast.views.html import report_html
from holdfast.views.recovery_lines import is_to_be_done, recovery_line
from holdfast.views.recovery_story import with_recovery
from holdfast.views.text import report_text

WORKER = TaskId("worker", 1)
HERE: Any = {"at_s": 12.0, "host": "host-a"}
BEGAN = AttemptStarted(
    at_s=0.0, host="host-a", began_unix_s=1794765736.0, tasks=("worker:1",), holdfast="1"
)
RELAUNCH = RemedyDecided(
    remedy="relaunch",
    reason="worker:1 was ended by SIGKILL; nobody trains any more (relaunch 1 of 3)",
    cause="killed-by-signal",
    culprit=WORKER,
    step=120,
    wait_s=5.0,
    **HERE,
)
CHOSEN = CheckpointChosen(path="/ckpt-100", step=100, steps_lost=20, **HERE)
FACTS: list[Fact] = [
    BEGAN,
    TaskExited(at_s=10.0, host="host-a", task=WORKER, signal=9),
    RELAUNCH,
    CHOSEN,
    replace(BEGAN, attempt=2, began_unix_s=1794765754.0),
    TaskStarted(at_s=0.5, host="host-a", task=WORKER, attempt=2, pid=7),
]
EMPTY: dict[str, Any] = {
    "schema": "holdfast.report/1",
    "verdict": "healthy",
    "findings": [],
    "healthy": [],
    "unknown": [],
    "broken": {},
    "last_words": {},
    "logs": {},
    "timeline": [],
}


def test_a_report_tells_what_was_done_and_what_it_cost() -> None:
    (one,) = with_recovery(EMPTY, FACTS)["recovery"]
    assert one == {
        "attempt": 1,
        "at": "2026-11-15T18:02:28.000Z",
        "cause": "killed-by-signal",
        "culprit": "worker:1",
        "step": 120,
        "did": "relaunch all tasks in 5 s",
        "done": True,
        "why": RELAUNCH.reason,
        "checkpoint": "begins from /ckpt-100 (step 100), 20 steps are lost",
        "seconds": {"detect": 0.0, "decide": 2.0, "wait": 5.0, "start": 1.5},
    }


def test_a_report_without_decisions_is_as_it_was() -> None:
    assert with_recovery(EMPTY, [BEGAN]) == EMPTY


def test_a_person_reads_it_before_the_verdict() -> None:
    text = report_text(with_recovery(EMPTY, FACTS), width=100, colour=False, zone=UTC)
    assert text.startswith("attempt 1: worker:1 was ended by SIGKILL; nobody trains any more")
    assert "   = did      relaunch all tasks in 5 s\n" in text
    assert "   = begins   from /ckpt-100" in text
    assert "   = took     detect 0.0 s · decide 2.0 s · wait 5.0 s · start 1.5 s\n" in text
    assert text.endswith("healthy: nothing is wrong\n")


def test_what_was_only_told_is_said_to_be_that() -> None:
    bare = RemedyDecided(remedy="relaunch", reason="why", dry_run=True, **HERE)
    shown = with_recovery(EMPTY, [bare])
    assert (shown["recovery"][0]["done"], shown["recovery"][0]["at"]) == (False, None)
    assert "   = not done relaunch all tasks\n" in report_text(shown, width=80, colour=False)
    assert "not done" in report_html(shown)


def test_the_page_has_it_too_and_harmlessly() -> None:
    evil = replace(RELAUNCH, reason="<script>alert(1)</script>")
    page = report_html(with_recovery(EMPTY, [*FACTS[:2], evil, *FACTS[3:]]))
    assert "<h2>Recovery</h2>" in page
    assert "start 1.5 s" in page
    assert "<script>" not in page


@pytest.mark.parametrize(
    ("fact", "line"),
    [
        (BEGAN, ""),
        (TimePassed(**HERE), ""),
        (replace(BEGAN, attempt=2), "attempt 2: all 1 tasks are started again"),
        (RELAUNCH, f"recovery: relaunch all tasks in 5 s: {RELAUNCH.reason}"),
        (
            replace(RELAUNCH, dry_run=True),
            f"recovery: dry run, not done: relaunch all tasks in 5 s: {RELAUNCH.reason}",
        ),
        (CHOSEN, "recovery: begins from /ckpt-100 (step 100), 20 steps are lost"),
        (RemedyAnswered(by="Ann", yes=False, **HERE), "recovery: Ann said no"),
    ],
)
def test_a_terminal_says_it_while_it_happens(fact: Fact, line: str) -> None:
    assert recovery_line(fact) == line


def test_what_is_waited_for() -> None:
    assert is_to_be_done(RELAUNCH)
    assert is_to_be_done(replace(RELAUNCH, remedy="ask", would="relaunch"))
    assert not is_to_be_done(replace(RELAUNCH, dry_run=True))
    assert not is_to_be_done(replace(RELAUNCH, remedy="stop"))


@pytest.fixture
def keyboard() -> Iterator[int]:
    """What is written here comes from standard input."""
    kept = os.dup(0)
    readable, writable = os.pipe()
    os.dup2(readable, 0)
    yield writable
    os.dup2(kept, 0)
    for fd in (kept, readable, writable):
        os.close(fd)


@pytest.mark.parametrize(
    ("typed", "yes"), [(b"yes\n", True), (b" Y \n", True), (b"no\n", False), (b"\n", False)]
)
def test_one_question_and_one_answer(keyboard: int, typed: bytes, *, yes: bool) -> None:
    said: list[str] = []
    answers: list[bool] = []
    asking = Asking(said.append, lambda given, _: answers.append(given))
    question = replace(RELAUNCH, remedy="ask", would="relaunch")
    os.write(keyboard, b"y\n")  # before the question: no answer to it
    for decided in (None, RELAUNCH, question, question):
        asking.step(decided)
    assert (said, answers) == (["relaunch the job? Type yes or no, then Enter"], [])
    os.write(keyboard, typed)
    asking.step(question)
    os.write(keyboard, b"once more\n")
    asking.step(question)
    assert answers == [yes]

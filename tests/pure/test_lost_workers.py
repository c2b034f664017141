"""A job whose chief finished although workers were lost: done, with what that means."""

from collections.abc import Sequence
from typing import Any

import pytest

from holdfast.diagnose import diagnose
from holdfast.diagnose.lost_workers import lost_workers
from holdfast.model.cluster import TaskId
from holdfast.model.evidence import Evidence
from holdfast.model.facts import (
    AttemptStarted,
    Fact,
    SignalSent,
    StopAsked,
    TaskExited,
    TaskNotStarted,
    TaskStarted,
    TracebackSeen,
)
from holdfast.model.findings import Severity, Verdict
from holdfast.model.watch_facts import StepsSeen
from holdfast.recover import Conclusion, conclude
from holdfast.views.report import report
from holdfast.views.text import report_text

PS, CHIEF = TaskId("ps", 0), TaskId("chief", 0)
W0, W1, W2 = (TaskId("worker", index) for index in range(3))


def at(at_s: float, task: TaskId | None) -> dict[str, Any]:
    return {"at_s": at_s, "host": "a", "task": task}


def ended(task: TaskId, at_s: float, code: int = 0) -> TaskExited:
    signal = -code if code < 0 else None
    return TaskExited(exit_code=None if signal else code, signal=signal, **at(at_s, task))


def stepped(task: TaskId, at_s: float, step: int, source: str = "log") -> StepsSeen:
    return StepsSeen(step=step, step_s=0.1, source=source, **at(at_s, task))


def job(*facts: Fact, tasks: Sequence[TaskId] = (PS, CHIEF, W0, W1)) -> Evidence:
    begun = AttemptStarted(
        at_s=0, host="a", began_unix_s=0, tasks=tuple(map(str, tasks)), holdfast="0.1.0"
    )
    started = (TaskStarted(pid=10 + i, **at(1, task)) for i, task in enumerate(tasks))
    return Evidence([begun, *started, *facts])


SERVED = SignalSent(signal=15, why="the training is over", **at(61, PS))
PS_ENDED = ended(PS, 62, -15)
REST = (ended(CHIEF, 60), ended(W0, 60.5), SERVED, PS_ENDED)
KILLED = ended(W1, 30, -9)


def concluded(evidence: Evidence) -> Conclusion:
    return conclude(evidence, diagnose(evidence))


def test_a_worker_that_was_killed_is_a_warning_once_its_chief_has_finished() -> None:
    evidence = job(stepped(CHIEF, 25, 70), stepped(W1, 29, 20), stepped(W1, 30, 21), KILLED, *REST)
    found = diagnose(evidence)
    (finding,) = found.findings
    assert (finding.name, finding.proof.culprit) == ("killed-by-signal", W1)
    assert (found.verdict, finding.severity) == (Verdict.HEALTHY, Severity.WARNING)
    assert found.healthy == (CHIEF, PS, W0)
    assert finding.proof.do == (
        "find out who sent SIGKILL to worker:1 on a",
        "the training need not be run again: chief:0 finished it",
        "if each worker reads a part of the input, nobody has read the rest of worker:1's",
    )
    assert concluded(evidence) == Conclusion(0, "done, with one worker lost at step 21")


def test_a_worker_that_only_serves_was_lost_at_its_chiefs_step() -> None:
    seen = (stepped(CHIEF, 25, 70), stepped(CHIEF, 35, 90), stepped(W1, 2, 60, "checkpoint"))
    evidence = job(*seen, KILLED, *REST)
    assert concluded(evidence).why == "done, with one worker lost at about step 80"
    early = job(stepped(CHIEF, 25, 70), KILLED, *REST)
    assert concluded(early).why == "done, with one worker lost at about step 70"
    late = job(KILLED, stepped(CHIEF, 35, 90), *REST)
    assert concluded(late).why == "done, with one worker lost"
    assert concluded(job(KILLED, *REST)).why == "done, with one worker lost"


def test_all_who_were_lost_are_named() -> None:
    tasks = (PS, CHIEF, W0, W1, W2)
    evidence = job(stepped(W1, 2, 7), KILLED, ended(W2, 31, -9), *REST, tasks=tasks)
    assert concluded(evidence) == Conclusion(
        0, "done, with 2 workers lost: worker:1 at step 7 and worker:2"
    )


def test_the_first_worker_leads_where_there_is_no_chief() -> None:
    tasks = (PS, W0, W1)
    evidence = job(KILLED, ended(W0, 60), SERVED, PS_ENDED, tasks=tasks)
    assert concluded(evidence) == Conclusion(0, "done, with one worker lost")
    alone = job(ended(W0, 30, -9), ended(W1, 60), SERVED, PS_ENDED, tasks=tasks)
    assert concluded(alone).exit_code == 137


@pytest.mark.parametrize(
    ("facts", "tasks"),
    [
        ((KILLED, ended(CHIEF, 60, 1), ended(W0, 60), SERVED, PS_ENDED), (PS, CHIEF, W0, W1)),
        ((KILLED, ended(W0, 60)), (PS, CHIEF, W0, W1)),
        ((KILLED, ended(W0, 60)), (W0, W1)),
        ((KILLED, StopAsked(signal=2, by="Ctrl-C", **at(59, None)), *REST), (PS, CHIEF, W0, W1)),
        ((KILLED, SignalSent(signal=15, why="x", **at(59, CHIEF)), *REST), (PS, CHIEF, W0, W1)),
        ((KILLED, ended(PS, 50, -9), *REST[:2]), (PS, CHIEF, W0, W1)),
        (
            (TaskNotStarted(command="x", errno_name="ENOENT", **at(2, W2)), KILLED, *REST),
            (PS, CHIEF, W0, W1, W2),
        ),
        (REST, (PS, CHIEF, W0)),
    ],
    ids=[
        *("chief failed", "chief unknown", "mirrored", "stopped", "chief was ended", "ps died"),
        *("not started", "nobody lost"),
    ],
)
def test_nothing_of_that_is_said_where_the_training_was_not_led_to_its_end(
    facts: tuple[Fact, ...], tasks: tuple[TaskId, ...]
) -> None:
    assert lost_workers(job(*facts, tasks=tasks)) is None


def test_a_mistake_in_the_program_stays_an_error_although_the_training_is_done() -> None:
    wrong = TracebackSeen(
        exception="ZeroDivisionError",
        message="division by zero",
        frames=('File "/home/user/train.py", line 7, in <module>',),
        stream="err",
        **at(30, W1),
    )
    evidence = job(stepped(W1, 29, 20), wrong, ended(W1, 30.1, 1), *REST)
    found = diagnose(evidence)
    assert (found.verdict, found.findings[0].name) == (Verdict.SICK, "user-exception")
    assert concluded(evidence).exit_code == 1
    assert _text(evidence).endswith(
        "done, with one worker lost at step 20: chief:0 finished the training\n"
    )
    both = job(
        *(wrong, ended(W1, 30.1, 1), ended(W2, 20, -9), *REST), tasks=(PS, CHIEF, W0, W1, W2)
    )
    assert [one.severity for one in diagnose(both).findings] == [Severity.ERROR, Severity.WARNING]


def test_a_worker_that_failed_for_no_known_reason_is_no_success() -> None:
    evidence = job(ended(W1, 30, 3), *REST)
    assert diagnose(evidence).verdict is not Verdict.HEALTHY
    assert concluded(evidence).exit_code != 0


def test_the_report_says_so() -> None:
    evidence = job(stepped(W1, 29, 20), KILLED, *REST)
    shown = report(diagnose(evidence), evidence, log_name=lambda *_: "")
    assert shown["done"] == {
        "by": "chief:0",
        "says": "done, with one worker lost at step 20",
        "lost": {"worker:1": 20},
    }
    text = _text(evidence)
    assert text.startswith("warning[killed-by-signal]: worker:1 was ended by SIGKILL")
    assert text.endswith("done, with one worker lost at step 20: chief:0 finished the training\n")
    assert "healthy:" not in text
    assert "start again" not in text


def _text(evidence: Evidence) -> str:
    shown = report(diagnose(evidence), evidence, log_name=lambda *_: "")
    return report_text(shown, width=100, colour=False)

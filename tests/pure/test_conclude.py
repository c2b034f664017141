"""What follows from the findings: one exit code for the rest of the world."""

from dataclasses import replace

import pytest

from holdfast.diagnose import diagnose
from holdfast.model.cluster import TaskId
from holdfast.model.evidence import Evidence
from holdfast.model.facts import (
    AttemptStarted,
    Fact,
    LogLine,
    PathProbed,
    SignalSent,
    StartBlocked,
    StopAsked,
    TaskExited,
    TaskNotStarted,
    TracebackSeen,
)
from holdfast.model.findings import Cause, Diagnosis, Finding, Proof, Severity, Verdict
from holdfast.model.recovery_facts import CheckpointSaved, RemedyDecided
from holdfast.model.remedies import Relaunch
from holdfast.recover import Conclusion, conclude

PS, CHIEF, WORKER = TaskId("ps", 0), TaskId("chief", 0), TaskId("worker", 0)
STARTED = AttemptStarted(
    at_s=0, host="a", began_unix_s=0, tasks=("ps:0", "chief:0", "worker:0"), holdfast="0.1.0"
)
CAUSE = Cause(
    family="unknown", detect=lambda _: iter(()), remedy=Relaunch(fresh_ports=True), preview=False
)
FOUND = Finding(
    name="port-conflict",
    cause=CAUSE,
    proof=Proof(facts=(STARTED,), says="the port is taken", culprit=PS, exit_code=75),
)


def exited(
    task: TaskId, at_s: float, code: int | None = None, number: int | None = None
) -> TaskExited:
    return TaskExited(at_s=at_s, host="a", task=task, exit_code=code, signal=number)


def sent(task: TaskId) -> SignalSent:
    return SignalSent(at_s=8, host="a", task=task, signal=15, why="")


def asked(by: str, number: int, at_s: float = 5) -> StopAsked:
    return StopAsked(at_s=at_s, host="a", by=by, signal=number)


def saved(path: str) -> CheckpointSaved:
    return CheckpointSaved(at_s=9, host="a", asked_s=5, path=path)


FINISHED = [exited(CHIEF, 7, 0), exited(WORKER, 7, 0), sent(PS), exited(PS, 9, number=15)]
ENDED = [exited(task, 9, number=15) for task in (PS, CHIEF, WORKER)]
CONFLICT: list[Fact] = [
    LogLine(at_s=3, host="a", task=WORKER, text="Address already in use"),
    exited(WORKER, 4, 1),
]
WRONG = TracebackSeen(at_s=3, host="a", task=WORKER, exception="ValueError", message="wrong")


@pytest.mark.parametrize(
    ("facts", "exit_code", "why"),
    [
        (FINISHED, 0, "every chief and worker finished"),
        ([*FINISHED, asked("Ctrl-C", 2, at_s=8)], 0, "every chief and worker finished"),
        ([asked("Ctrl-C", 2), *ENDED], 130, "stopped by Ctrl-C"),
        ([asked("holdfast stop", 15), *ENDED], 143, "stopped by holdfast stop"),
        ([asked("Ctrl-C", 2), *FINISHED], 130, "stopped by Ctrl-C"),
        ([asked("SIGTERM", 15), *ENDED, saved("/ckpt-3")], 75, "stopped by SIGTERM, and saved"),
        ([asked("SIGTERM", 15), *ENDED, saved("")], 143, "stopped by SIGTERM"),
        ([asked("Ctrl-C", 2), *ENDED, saved("/ckpt-3")], 130, "stopped by Ctrl-C"),
        ([asked("Ctrl-C", 2, at_s=8), exited(CHIEF, 7, 0)], 130, "stopped by Ctrl-C"),
        ([WRONG, exited(WORKER, 4, 1)], 1, "worker:0 ended with ValueError: wrong"),
        ([exited(PS, 4, number=9)], 137, "ps:0 was ended by SIGKILL"),
        ([exited(PS, 4, number=11)], 139, "ps:0 crashed with SIGSEGV"),
        (CONFLICT, 75, "worker:0 could not listen on its port"),
        ([exited(WORKER, 4, 3)], 1, "a task failed, and no cause is proven"),
        (
            [TaskNotStarted(at_s=1, host="a", task=PS, command="x", errno_name="ENOENT")],
            127,
            "ps:0 could not be started",
        ),
        (
            [TaskNotStarted(at_s=1, host="a", task=PS, command="x", errno_name="EACCES")],
            126,
            "ps:0 could not be started",
        ),
    ],
)
def test_exit_codes(facts: list[Fact], exit_code: int, why: str) -> None:
    evidence = Evidence([STARTED, *facts])
    conclusion = conclude(evidence, diagnose(evidence))
    assert conclusion.exit_code == exit_code
    assert conclusion.why.startswith(why)


def test_a_start_that_was_given_up_is_hung() -> None:
    blocked = StartBlocked(
        at_s=9, host="a", deadline_s=9, missing=("worker:0",), waiting=("chief:0",)
    )
    evidence = Evidence([STARTED, blocked])
    assert diagnose(evidence).verdict is Verdict.CANNOT_TELL
    assert conclude(evidence, diagnose(evidence)) == Conclusion(
        124, "the cluster was not up after 9 s"
    )
    refused = PathProbed(at_s=1, host="a", address="w:1", outcome="refused", target=WORKER)
    evidence = Evidence([STARTED, refused, blocked])
    conclusion = conclude(evidence, diagnose(evidence))
    assert conclusion.exit_code == 124
    assert conclusion.why.startswith("nobody listens at w:1, where worker:0 should be")


def test_a_job_without_trainers_never_trained_to_the_end() -> None:
    evidence = Evidence([asked("Ctrl-C", 2), exited(PS, 9, number=2)])
    assert conclude(evidence, diagnose(evidence)).exit_code == 130


NOTHING = Diagnosis(verdict=Verdict.CANNOT_TELL, broken={})


@pytest.mark.parametrize(
    ("facts", "exit_code"),
    [
        ([exited(WORKER, 5, number=11), exited(PS, 4, number=9)], 137),
        ([exited(WORKER, 4, 3)], 1),
        ([TaskNotStarted(at_s=1, host="a", task=PS, command="x", errno_name="E")], 1),
    ],
    ids=["the first signal", "an exit code", "not started"],
)
def test_without_a_cause_the_first_failure_decides(facts: list[Fact], exit_code: int) -> None:
    assert conclude(Evidence([STARTED, *facts]), NOTHING).exit_code == exit_code


def test_a_warning_does_not_decide() -> None:
    warning = replace(FOUND, cause=replace(CAUSE, severity=Severity.WARNING))
    diagnosis = replace(NOTHING, findings=(warning, FOUND))
    evidence = Evidence([STARTED, exited(WORKER, 4, 3)])
    assert conclude(evidence, diagnosis).exit_code == 75
    assert conclude(evidence, replace(NOTHING, findings=(warning,))).exit_code == 1


def test_what_we_ended_because_it_hung_has_not_finished() -> None:
    relaunch = RemedyDecided(at_s=7, host="a", remedy="relaunch", reason="it hangs")
    hung: list[Fact] = [relaunch, *(sent(task) for task in (PS, CHIEF, WORKER)), *ENDED]
    evidence = Evidence([STARTED, *hung])
    assert conclude(evidence, replace(NOTHING, findings=(FOUND,))).exit_code == 75
    assert conclude(evidence, NOTHING).exit_code == 1
    told = Evidence([STARTED, replace(relaunch, dry_run=True), *hung[1:]])
    assert conclude(told, NOTHING).exit_code == 0
    done = Evidence([STARTED, relaunch, *FINISHED])
    assert conclude(done, NOTHING) == Conclusion(0, "every chief and worker finished")

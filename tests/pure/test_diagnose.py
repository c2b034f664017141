"""The verdict: healthy, sick and cannot-tell are three different answers."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

import holdfast.diagnose
from holdfast.diagnose import diagnose, page
from holdfast.diagnose.healthy import healthy_tasks
from holdfast.diagnose.stranded import with_stranded
from holdfast.diagnose.unknown import what_stays_unknown
from holdfast.model.cluster import TaskId
from holdfast.model.evidence import Evidence
from holdfast.model.facts import (
    AttemptEnded,
    AttemptStarted,
    Fact,
    OutputEnded,
    ProbeBlind,
    SignalSent,
    StopAsked,
    TaskExited,
    TaskNotStarted,
    TaskStarted,
    UnknownFact,
)
from holdfast.model.findings import Cause, Echo, Finding, Proof, Severity, Verdict
from holdfast.model.remedies import AskHuman
from holdfast.model.told_facts import ExceptionLogged

PS, CHIEF = TaskId("ps", 0), TaskId("chief", 0)
WORKER_0, WORKER_1 = TaskId("worker", 0), TaskId("worker", 1)
STARTED = AttemptStarted(
    at_s=0,
    host="a",
    began_unix_s=0,
    tasks=("ps:0", "chief:0", "worker:0", "worker:1"),
    holdfast="0.1.0",
)


def exited(task: TaskId, at_s: float, code: int | None = None, number: int | None = None) -> Fact:
    return TaskExited(at_s=at_s, host="a", task=task, exit_code=code, signal=number)


def sent(task: TaskId, at_s: float) -> Fact:
    return SignalSent(at_s=at_s, host="a", task=task, signal=15, why="")


def finding(culprit: TaskId | None, *, seen_at: TaskId | None = None) -> Finding:
    cause = Cause(family="unknown", detect=lambda _: iter(()), remedy=AskHuman())
    proof = Proof(facts=(STARTED,), says="", culprit=culprit, seen_at=seen_at)
    return Finding(name="killed-by-signal", cause=cause, proof=proof)


def silent(_: Evidence) -> Iterator[Proof]:
    return iter(())


def broken(_: Evidence) -> Iterator[Proof]:
    raise ZeroDivisionError("a bad rule")


def warning(evidence: Evidence) -> Iterator[Proof]:
    yield Proof(facts=evidence.facts[:1], says="a little slow", culprit=WORKER_0)


def with_causes(monkeypatch: pytest.MonkeyPatch, **causes: Cause) -> None:
    monkeypatch.setattr(holdfast.diagnose, "catalogue", lambda: causes)


PLAIN = Cause(family="unknown", detect=silent, remedy=AskHuman())


def test_no_facts_prove_nothing() -> None:
    assert diagnose(Evidence([])).verdict is Verdict.CANNOT_TELL


def test_a_run_that_ended_well_is_healthy() -> None:
    assert diagnose(Evidence([STARTED, exited(WORKER_0, 9, 0)])).verdict is Verdict.HEALTHY


def test_a_failure_without_a_cause_cannot_be_told() -> None:
    diagnosis = diagnose(Evidence([STARTED, exited(WORKER_0, 9, 3)]))
    assert diagnosis.verdict is Verdict.CANNOT_TELL
    assert {found.severity for found in diagnosis.findings} <= {Severity.WARNING}
    assert diagnosis.unknown == (
        "why worker:0 ended with exit code 3: nothing it left behind proves a cause",
    )


def test_a_proven_cause_makes_it_sick() -> None:
    diagnosis = diagnose(Evidence([STARTED, exited(WORKER_0, 9, number=9)]))
    assert diagnosis.verdict is Verdict.SICK
    assert [found.name for found in diagnosis.findings] == ["killed-by-signal"]


def test_a_warning_makes_nobody_sick(monkeypatch: pytest.MonkeyPatch) -> None:
    with_causes(monkeypatch, slow=replace(PLAIN, detect=warning, severity=Severity.WARNING))
    diagnosis = diagnose(Evidence([STARTED]))
    assert diagnosis.verdict is Verdict.HEALTHY
    assert len(diagnosis.findings) == 1


def test_a_notice_that_still_holds_is_not_called_healthy(monkeypatch: pytest.MonkeyPatch) -> None:
    with_causes(monkeypatch, waits=replace(PLAIN, detect=warning, severity=Severity.NOTICE))
    assert diagnose(Evidence([STARTED])).verdict is Verdict.CANNOT_TELL


def test_a_broken_rule_is_told_and_hides_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    with_causes(monkeypatch, bad=replace(PLAIN, detect=broken), slow=replace(PLAIN, detect=warning))
    diagnosis = diagnose(Evidence([STARTED]))
    assert diagnosis.broken == {"bad": "ZeroDivisionError('a bad rule')"}
    assert [found.name for found in diagnosis.findings] == ["slow"]


def test_a_broken_rule_never_means_healthy(monkeypatch: pytest.MonkeyPatch) -> None:
    with_causes(monkeypatch, bad=replace(PLAIN, detect=broken))
    assert diagnose(Evidence([STARTED])).verdict is Verdict.CANNOT_TELL


def test_a_page_is_the_docstring_of_the_causes_file() -> None:
    assert page("disk-full").startswith("A task could not write")


def test_who_is_well() -> None:
    suffers = Echo(task=WORKER_0, cause="peer-gone", says="", since_s=1)
    found = replace(finding(CHIEF, seen_at=WORKER_1), echoes=(suffers,))
    assert healthy_tasks(Evidence([STARTED]), [found]) == (PS,)
    assert healthy_tasks(Evidence([STARTED, exited(PS, 9, 1)]), [found]) == ()
    refused = TaskNotStarted(at_s=1, host="a", task=PS, command="x", errno_name="ENOENT")
    assert healthy_tasks(Evidence([STARTED, refused]), []) == (CHIEF, WORKER_0, WORKER_1)


@pytest.mark.parametrize(
    ("facts", "echoes"),
    [
        ([exited(PS, 5, 1), sent(CHIEF, 9), sent(WORKER_0, 9)], ["chief:0", "worker:0"]),
        ([exited(PS, 5, 1), sent(CHIEF, 9), exited(CHIEF, 9, 0), sent(WORKER_0, 9)], []),
        ([exited(PS, 5, 1), sent(WORKER_0, 9), exited(WORKER_0, 10, 0)], []),
        ([exited(PS, 5, 1), sent(WORKER_0, 9), exited(WORKER_0, 10, number=15)], ["worker:0"]),
        ([exited(PS, 5, 1), sent(WORKER_0, 4)], []),
        ([exited(PS, 5, 1), StopAsked(at_s=8, host="a", by="x", signal=2), sent(CHIEF, 9)], []),
        ([exited(PS, 5, 0), sent(CHIEF, 9)], []),
        ([], []),
    ],
    ids=[
        "two wait",
        "the chief finished",
        "a worker finished",
        "a worker was ended",
        "ended before",
        "somebody asked to stop",
        "the culprit did not fail",
        "nothing happened",
    ],
)
def test_who_had_to_be_ended_with_the_job_is_an_echo(facts: list[Fact], echoes: list[str]) -> None:
    (found,) = with_stranded((finding(PS),), Evidence([STARTED, *facts]))
    assert [str(echo.task) for echo in found.echoes] == echoes


def test_nobody_is_stranded_twice_or_without_a_cause() -> None:
    evidence = Evidence([STARTED, exited(PS, 5, 1), sent(WORKER_0, 9)])
    already = Echo(task=WORKER_0, cause="peer-gone", says="lost ps:0", since_s=6)
    found = replace(finding(PS), echoes=(already,))
    assert with_stranded((found,), evidence) == (found,)
    assert with_stranded((), evidence) == ()


@pytest.mark.parametrize(
    ("facts", "unknown"),
    [
        ([exited(PS, 5, number=11)], ["why ps:0 ended on SIGSEGV: nothing it left behind"]),
        ([exited(PS, 5, 137)], ["why ps:0 ended with exit code 137: nothing it left behind"]),
        ([ProbeBlind(at_s=1, host="a", probe="kernel log", why="no rights")], []),
        (
            [exited(PS, 5, 1), ProbeBlind(at_s=1, host="a", probe="kernel log", why="no rights")],
            ["why ps:0 ended with exit code 1", "kernel log: no rights"],
        ),
        ([UnknownFact(at_s=at_s, host="a", kind="New") for at_s in (1, 2)], ["2 facts of a newer"]),
        ([TaskStarted(at_s=1, host="a", task=PS, pid=7)], ["how ps:0 ended: still running"]),
        ([TaskStarted(at_s=1, host="a", task=PS, pid=7), exited(PS, 2, 0)], []),
        (
            [
                TaskStarted(at_s=1, host="a", task=PS, pid=7),
                AttemptEnded(at_s=9, host="a", exit_code=0, why=""),
            ],
            [],
        ),
    ],
)
def test_what_stays_unknown_is_said(facts: list[Fact], unknown: list[str]) -> None:
    said = what_stays_unknown(Evidence([STARTED, *facts]), [])
    assert len(said) == len(unknown)
    for text, beginning in zip(said, unknown, strict=True):
        assert text.startswith(beginning)


def test_telling_lines_that_were_left_out_are_counted() -> None:
    ended = OutputEnded(
        at_s=9,
        host="a",
        task=PS,
        stream="err",
        bytes_total=9,
        lines_total=9,
        lines_heard=8,
        lines_left_out=5,
    )
    assert what_stays_unknown(Evidence([ended]), []) == (
        "5 more telling lines of ps:0 (stderr): they are in its log, but not in the journal",
    )
    assert what_stays_unknown(Evidence([replace(ended, lines_left_out=0)]), []) == ()


def test_what_a_finding_explains_is_not_unknown() -> None:
    suffers = Echo(task=WORKER_0, cause="peer-gone", says="", since_s=1)
    found = replace(finding(CHIEF, seen_at=WORKER_1), echoes=(suffers,))
    failures = [exited(task, 5, 1) for task in (CHIEF, WORKER_0, WORKER_1)]
    assert what_stays_unknown(Evidence([STARTED, *failures]), [found]) == ()


def test_a_job_that_ended_well_is_not_healthy_where_it_logged_a_failure() -> None:
    well = [STARTED, *(exited(task, 9, 0) for task in (PS, CHIEF, WORKER_0, WORKER_1))]
    logged = ExceptionLogged(
        at_s=8,
        host="a",
        task=WORKER_1,
        path="/data/train.log",
        exception="ValueError",
        message="n/a",
        record="ERROR:trainer:training failed",
    )
    assert diagnose(Evidence(well)).verdict is Verdict.HEALTHY
    found = diagnose(Evidence([*well, logged]))
    assert found.verdict is Verdict.CANNOT_TELL
    assert WORKER_1 not in found.healthy
    calm = replace(logged, record="WARNING:trainer:trying again")
    assert diagnose(Evidence([*well, calm])).verdict is Verdict.HEALTHY

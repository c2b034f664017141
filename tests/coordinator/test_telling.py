"""What is told of a job: once, again when it is graver, and taken back when it no longer holds."""

from dataclasses import dataclass, field

import pytest

from holdfast.coordinator.telling import AGAIN_S, GONE_S, VAGUE_S, VAGUE_S_MAX, Telling
from holdfast.model.cluster import TaskId
from holdfast.model.evidence import Evidence
from holdfast.model.facts import Fact, TaskExited, TimePassed
from holdfast.model.finding_facts import FindingTakenBack, FindingTold
from holdfast.model.findings import (
    HUNG_CODE,
    Cause,
    Confidence,
    Diagnosis,
    Echo,
    Finding,
    Proof,
    Severity,
    Verdict,
)
from holdfast.model.remedies import AskHuman
from holdfast.model.watch_facts import StepsSeen

W0, W1 = TaskId("worker", 0), TaskId("worker", 1)
DONE = TaskExited(at_s=5.0, host="host-a", task=W0, exit_code=0)
SEEN = TimePassed(at_s=1.0, host="host-a")


def finding(
    name: str = "keeps-waiting",
    severity: Severity = Severity.NOTICE,
    culprit: TaskId | None = W0,
    confidence: Confidence = Confidence.HIGH,
    *,
    aftermath: bool = False,
    place: str = "",
) -> Finding:
    cause = Cause(
        family="task-stalled",
        detect=lambda _: iter(()),
        remedy=AskHuman(),
        general=name == "keeps-waiting",
        echo=aftermath,
    )
    proof = Proof(
        facts=(SEEN,),
        culprit=culprit,
        confidence=confidence,
        severity=severity,
        says=f"{culprit}: {severity}",
        do=("look at it",),
        exit_code=HUNG_CODE,
        place=place,
    )
    waiting = Echo(task=W1, cause=name, says="it waits", since_s=1.0, facts=(SEEN,))
    return Finding(name=name, cause=cause, proof=proof, echoes=(waiting,) if culprit == W0 else ())


@dataclass
class Desk:
    facts: list[Fact] = field(default_factory=list)
    told: list[tuple[str, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.telling = Telling(lambda one, _: self.told.append((one.name, str(one.severity))))

    def hear(self, at_s: float, *findings: Finding, at_the_end: bool = False) -> list[Fact]:
        diagnosis = Diagnosis(verdict=Verdict.CANNOT_TELL, findings=findings, broken={})
        where = {"at_s": at_s, "host": "host-a"}
        return self.telling.hear(Evidence(self.facts), diagnosis, where, at_the_end=at_the_end)


@pytest.fixture
def desk() -> Desk:
    return Desk()


def back(facts: list[Fact]) -> FindingTakenBack:
    (fact,) = facts
    assert isinstance(fact, FindingTakenBack)
    return fact


def test_a_finding_is_told_once_and_is_a_fact(desk: Desk) -> None:
    (fact,) = desk.hear(10.0, finding())
    assert fact == FindingTold(
        at_s=10.0,
        host="host-a",
        task=W0,
        cause="keeps-waiting",
        severity="notice",
        says="worker:0: notice",
        confidence="high",
        waiting=("worker:1",),
    )
    assert desk.hear(11.0, finding()) == desk.hear(12.0, finding()) == []
    assert desk.told == [("keeps-waiting", "notice")]


def test_it_is_told_again_when_it_is_graver_and_not_when_it_is_less_grave(desk: Desk) -> None:
    desk.hear(10.0, finding())
    desk.hear(60.0, finding(severity=Severity.WARNING))
    desk.hear(70.0, finding())
    desk.hear(300.0, finding(severity=Severity.ERROR))
    assert [severity for _, severity in desk.told] == ["notice", "warning", "error"]


def test_the_next_step_takes_a_notice_back_at_once(desk: Desk) -> None:
    desk.hear(10.0, finding())
    desk.hear(12.0, finding())
    desk.facts = [StepsSeen(at_s=12.5, host="host-a", task=W0, step=41, source="log")]
    fact = back(desk.hear(13.0))
    assert (fact.task, fact.severity, fact.says) == (W0, "notice", "worker:0: notice")
    assert (fact.why, fact.held_s) == ("worker:0 goes on, at step 41", 3.0)
    assert desk.hear(14.0) == []


def test_what_one_judgement_misses_is_not_taken_back(desk: Desk) -> None:
    desk.hear(10.0, finding("why", Severity.ERROR))
    assert desk.hear(10.5) == []
    assert desk.telling.is_to_be_taken_back
    assert desk.hear(11.0, finding("why", Severity.ERROR)) == []
    assert not desk.telling.is_to_be_taken_back
    assert back(desk.hear(11.0 + GONE_S)).cause == "why"
    assert not desk.telling.is_to_be_taken_back


@pytest.mark.parametrize(
    ("exited", "why"),
    [
        (
            TaskExited(at_s=11.0, host="a", task=W0, exit_code=0),
            "worker:0 has ended with exit code 0",
        ),
        (TaskExited(at_s=11.0, host="a", task=W0, signal=9), "worker:0 has ended by now"),
        (
            TaskExited(at_s=5.0, host="a", task=W0, exit_code=0),
            "nobody waits for worker:0 any longer",
        ),
    ],
)
def test_an_end_is_a_reason_too(desk: Desk, exited: TaskExited, why: str) -> None:
    desk.hear(10.0, finding())
    desk.facts = [exited]
    assert back(desk.hear(13.0)).why == why


def test_what_nobody_is_to_blame_for_is_taken_back_for_the_whole_job(desk: Desk) -> None:
    desk.hear(10.0, finding(culprit=None))
    fact = back(desk.hear(13.0))
    assert (fact.task, fact.why) == (None, "the job goes on")


def test_a_cause_that_explains_it_takes_its_place_without_a_word(desk: Desk) -> None:
    desk.hear(10.0, finding())
    (fact,) = desk.hear(13.0, finding("livelock", Severity.WARNING))
    assert isinstance(fact, FindingTold)
    assert desk.hear(14.0, finding("livelock", Severity.WARNING)) == []


def test_so_does_the_cause_that_its_culprit_suffers_from(desk: Desk) -> None:
    desk.hear(10.0, finding(culprit=W1))
    (fact,) = desk.hear(13.0, finding("stopped", Severity.ERROR))
    assert isinstance(fact, FindingTold)


def test_a_warning_that_comes_and_goes_is_not_told_each_time(desk: Desk) -> None:
    starved = finding("cpu-starved", Severity.WARNING)
    desk.hear(10.0, starved)
    assert back(desk.hear(20.0)).cause == "cpu-starved"
    assert desk.hear(25.0, starved) == []
    assert desk.hear(20.0 + AGAIN_S, starved) != []


def test_an_error_that_comes_again_is_told_each_time(desk: Desk) -> None:
    for at_s in (10.0, 30.0):
        assert desk.hear(at_s, finding("stopped", Severity.ERROR)) != []
        back(desk.hear(at_s + 10.0))


def test_while_it_runs_only_what_is_sure_is_told_and_at_the_end_all(desk: Desk) -> None:
    likely = finding("why", Severity.ERROR, confidence=Confidence.LIKELY)
    assert desk.hear(10.0, likely) == []
    assert len(desk.hear(20.0, likely, at_the_end=True)) == 1


def test_of_a_task_that_has_failed_what_is_likely_is_told_at_once(desk: Desk) -> None:
    desk.facts = [TaskExited(at_s=9.0, host="a", task=W0, signal=9)]
    likely = finding("why", Severity.ERROR, confidence=Confidence.LIKELY)
    assert desk.hear(10.0, finding("root", Severity.ERROR, W1), likely)[1:] == []
    assert len(desk.hear(11.0, likely)) == 1


def test_a_notice_that_is_only_likely_is_told(desk: Desk) -> None:
    assert len(desk.hear(10.0, finding(confidence=Confidence.LIKELY))) == 1


def test_an_aftermath_and_what_is_only_worth_knowing_are_not_told(desk: Desk) -> None:
    desk.hear(10.0, finding("root", Severity.ERROR, W1))
    after = finding("after", Severity.ERROR, aftermath=True)
    assert desk.hear(11.0, finding("root", Severity.ERROR, W1), after) == []
    assert Desk().hear(10.0, finding("fyi", Severity.INFO)) == []


def test_what_is_told_at_the_end_for_information_is_not_taken_back(desk: Desk) -> None:
    assert len(desk.hear(10.0, finding("fyi", Severity.INFO), at_the_end=True)) == 1
    assert desk.hear(11.0, at_the_end=True) == []


def test_at_the_end_what_does_not_hold_is_taken_back_at_once(desk: Desk) -> None:
    desk.hear(10.0, finding("why", Severity.ERROR))
    assert back(desk.hear(10.5, at_the_end=True)).severity == "error"


def test_after_a_take_over_what_was_told_is_known(desk: Desk) -> None:
    first = desk.hear(10.0, finding(), finding("gone", Severity.ERROR, W1))
    graver = desk.hear(60.0, finding(severity=Severity.WARNING))
    new = Desk()
    new.telling.recall([*first, *graver], at_s=70.0)
    assert new.hear(71.0, finding(severity=Severity.WARNING)) == []
    assert len(new.hear(72.0, finding(severity=Severity.ERROR))) == 1
    fact = back(new.hear(75.0))
    assert (fact.severity, fact.held_s) == ("error", 65.0)


def test_notices_that_know_little_and_come_and_go_become_rare(desk: Desk) -> None:
    """As on a starved host, of one task after another; one that lasts is told."""
    at_s = 100.0
    for second in range(600):
        culprit = (W0, W1, None)[second % 3]
        vague = finding(culprit=culprit, confidence=Confidence.LIKELY)
        desk.hear(at_s + second, *([vague] if second % 2 else []))
    assert 3 <= len(desk.told) <= 600 / VAGUE_S_MAX + 5
    desk.told.clear()
    at_s += 600
    for second in range(30):
        desk.hear(at_s + second, finding(confidence=Confidence.LIKELY))
    assert len(desk.told) == 1


def test_what_knows_more_or_is_graver_is_told_beside_them(desk: Desk) -> None:
    vague = finding(confidence=Confidence.LIKELY)
    for at_s in (1.0, 2.0):
        desk.hear(at_s, vague)
        desk.hear(at_s + 0.5)
    desk.told.clear()
    assert desk.hear(3.0, vague) == []
    assert desk.hear(3.0, finding())
    desk.hear(4.0)
    assert desk.hear(4.5, finding(severity=Severity.WARNING, confidence=Confidence.LIKELY))
    assert desk.hear(2.5 + VAGUE_S, finding(culprit=W1, confidence=Confidence.LIKELY))


def test_what_no_task_is_to_blame_for_is_told_of_each_place(desk: Desk) -> None:
    logs, saves = (
        finding("two-writers", Severity.WARNING, None, place=f"{what} in /data")
        for what in ("summaries", "checkpoints")
    )
    assert len(desk.hear(1.0, logs)) == 1
    (told,) = desk.hear(2.0, logs, saves)
    assert isinstance(told, FindingTold)
    assert told.place == "checkpoints in /data"
    assert desk.hear(3.0, logs, saves) == []
    over = back(desk.hear(3.0 + GONE_S, saves))
    assert over.place == "summaries in /data"


def test_a_new_supervisor_knows_of_which_place_it_was_told(desk: Desk) -> None:
    logs = finding("two-writers", Severity.WARNING, None, place="summaries in /data")
    told = desk.hear(1.0, logs)
    other = Desk()
    other.telling.recall(told, 2.0)
    assert other.hear(2.0, logs) == []


def test_a_place_beside_a_culprit_does_not_make_it_another_finding(desk: Desk) -> None:
    desk.hear(1.0, finding("user-exception", Severity.ERROR, W0, place="a.py line 1"))
    assert desk.hear(2.0, finding("user-exception", Severity.ERROR, W0, place="a.py line 2")) == []


def test_a_warning_that_came_true_is_not_taken_back(desk: Desk) -> None:
    desk.hear(1.0, finding("disk-nearly-full", Severity.WARNING, None, place="/data"))
    full = finding("disk-full", Severity.ERROR, W0)
    (told,) = desk.hear(2.0, full)
    assert isinstance(told, FindingTold)
    assert desk.hear(3.0 + GONE_S, full) == []

"""What is told of a running job, and when."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import pytest

from holdfast.coordinator.judging import AFTER_DEATH_S, REST_FOR_WORK, Judging
from holdfast.coordinator.telling import GONE_S
from holdfast.model.cluster import TaskId
from holdfast.model.evidence import Evidence
from holdfast.model.facts import (
    AttemptStarted,
    DiskMeasured,
    Fact,
    ProcessSeen,
    TaskExited,
    TaskStarted,
)
from holdfast.model.finding_facts import FindingTakenBack, FindingTold
from holdfast.model.findings import Finding
from holdfast.model.recovery_facts import RemedyDecided
from holdfast.model.watch_facts import StateChanged, StepsSeen, TaskSampled

WORKER = TaskId("worker", 0)


@dataclass
class Desk:
    """A judging whose clock stands still until it is moved."""

    at_s: float = 0.0
    told: list[tuple[str, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.judging = Judging(now=lambda: self.at_s, tell=self._tell)
        self.judging.take(
            [
                AttemptStarted(
                    at_s=0.0, host="host-a", began_unix_s=1.0, tasks=("worker:0",), holdfast="1"
                ),
                TaskStarted(at_s=0.0, host="host-a", task=WORKER, pid=7),
            ]
        )

    def _tell(self, finding: Finding, _: Evidence) -> None:
        self.told.append((finding.name, str(finding.proof.culprit)))

    def take(self, *facts: Fact) -> None:
        self.judging.take(facts)

    def judge_at(self, at_s: float) -> list[Fact]:
        self.at_s = at_s
        changes, _ = self.judging.judge_live("host-a")
        return changes


@pytest.fixture
def desk() -> Desk:
    return Desk()


def stopped(at_s: float, state: str = "T") -> ProcessSeen:
    return ProcessSeen(
        at_s=at_s,
        host="host-a",
        task=WORKER,
        pid=7,
        state=state,
        lasting_s=2.0 if state == "T" else 0.0,
    )


def test_a_death_is_judged_as_soon_as_its_last_words_may_be_read(desk: Desk) -> None:
    desk.at_s = 50.0
    desk.take(TaskExited(at_s=50.0, host="host-a", task=WORKER, signal=9))
    assert not desk.judging.is_due()
    desk.at_s = 50.0 + AFTER_DEATH_S
    assert desk.judging.is_due()


def test_a_finding_is_told_once_while_it_holds(desk: Desk) -> None:
    desk.take(stopped(10.0), stopped(12.0))
    for at_s in (13.0, 14.0, 300.0):
        desk.judge_at(at_s)
    assert desk.told == [("stopped", "worker:0")]


def test_what_no_longer_holds_is_judged_again_soon_and_taken_back(desk: Desk) -> None:
    desk.take(stopped(10.0), stopped(12.0))
    (*_, told) = desk.judge_at(13.0)
    assert isinstance(told, FindingTold)
    assert (told.cause, told.severity, told.task) == ("stopped", "error", WORKER)
    desk.take(stopped(13.5, "S"))
    assert not any(isinstance(fact, FindingTakenBack) for fact in desk.judge_at(14.0))
    assert desk.judging.due_in_s() <= GONE_S
    (*_, back) = desk.judge_at(14.0 + GONE_S)
    assert isinstance(back, FindingTakenBack)
    assert (back.cause, back.task, back.why) == ("stopped", WORKER, "worker:0 goes on")
    assert desk.judging.due_in_s() > GONE_S


def test_what_comes_back_is_told_again(desk: Desk) -> None:
    desk.take(stopped(10.0), stopped(12.0))
    desk.judge_at(13.0)
    desk.take(stopped(20.0, "S"))
    desk.judge_at(21.0)
    desk.take(stopped(100.0), stopped(102.0))
    desk.judge_at(103.0)
    assert desk.told == [("stopped", "worker:0")] * 2


def test_what_another_supervisor_told_is_not_told_again(desk: Desk) -> None:
    desk.take(stopped(10.0), stopped(12.0))
    told = desk.judge_at(13.0)
    other = Desk()
    other.judging.recall([stopped(10.0), stopped(12.0), *told])
    assert other.judging.is_due()
    assert not any(isinstance(fact, FindingTold | StateChanged) for fact in other.judge_at(14.0))
    assert other.told == []


def test_at_the_end_the_diagnosis_knows_what_was_taken_back(desk: Desk) -> None:
    desk.take(stopped(10.0), stopped(12.0))
    desk.judge_at(13.0)
    desk.take(stopped(13.5, "S"))
    desk.at_s = 14.0
    told, _, diagnosis = desk.judging.judge("host-a")
    assert [fact.cause for fact in diagnosis.taken_back] == ["stopped"]
    assert told == [*diagnosis.taken_back]


def test_a_change_of_state_is_a_fact_and_told_once(desk: Desk) -> None:
    desk.take(StepsSeen(at_s=5.0, host="host-a", task=WORKER, step=3, source="log"))
    (first,) = desk.judge_at(6.0)
    assert isinstance(first, StateChanged)
    assert (first.before, first.state) == ("", "training")
    assert desk.judge_at(7.0) == []
    desk.take(stopped(10.0), stopped(12.0))
    second, _ = desk.judge_at(13.0)
    assert isinstance(second, StateChanged)
    assert (second.before, second.state) == ("training", "stopped")


def test_a_healthy_sample_does_not_hurry_anybody(desk: Desk) -> None:
    desk.judge_at(1.0)
    sampled = TaskSampled(
        at_s=5.0, host="host-a", task=WORKER, pid=1, state="S", over_s=10.0, cpu_share=0.5
    )
    desk.take(sampled)
    desk.at_s = 10.0
    assert not desk.judging.is_due()
    desk.at_s = 60.0
    assert desk.judging.is_due()


def test_a_disk_that_runs_out_is_judged_at_once(desk: Desk) -> None:
    desk.judge_at(1.0)
    room = DiskMeasured(at_s=5.0, host="host-a", path="/w", free_bytes=9 << 20, total_bytes=1 << 30)
    desk.take(room)
    desk.at_s = 10.0
    assert not desk.judging.is_due()
    desk.take(replace(room, at_s=10.0, left_s=20.0))
    desk.at_s = 11.0
    assert desk.judging.is_due()


def test_steps_that_are_told_may_show_that_they_have_become_slow(desk: Desk) -> None:
    desk.judge_at(1.0)
    steps = StepsSeen(at_s=5.0, host="host-a", task=WORKER, step=3, source="log", step_s=0.1)
    desk.take(steps, replace(steps, step=4))
    desk.at_s = 10.0
    assert not desk.judging.is_due()
    desk.take(replace(steps, step=5, step_s=0.5))
    desk.at_s = 13.0
    assert desk.judging.is_due()


def test_it_is_judged_again_when_a_wait_is_over_whatever_was_seen(desk: Desk) -> None:
    desk.judge_at(1.0)
    wait = RemedyDecided(at_s=10.0, host="host-a", remedy="wait", reason="why", wait_s=5.0)
    desk.take(wait)
    desk.judge_at(12.0)
    desk.at_s = 14.9
    assert not desk.judging.is_due()
    desk.judging.judge_live("host-a")
    desk.at_s = 60.0
    assert desk.judging.is_due()
    desk.judge_at(60.0)
    desk.at_s = 120.0
    assert not desk.judging.is_due()


def costs(*judgements_s: float) -> Callable[[], float]:
    """A clock of CPU time by which the judgements cost this much, one after the other."""

    def ticks() -> Iterator[float]:
        spent_s = 0.0
        for cost_s in judgements_s:
            yield spent_s
            spent_s += cost_s
            yield spent_s

    return ticks().__next__


def test_to_load_the_causes_costs_nobody_the_first_finding(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first judgement is the dearest; a task may be stopped a moment later."""
    monkeypatch.setattr(time, "process_time", costs(0.2))
    desk.judge_at(1.0)
    desk.take(stopped(2.0))
    assert desk.judging.due_in_s() < 1.5


def test_one_dear_judgement_among_many_makes_no_long_pause(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual_s = 0.01
    monkeypatch.setattr(time, "process_time", costs(0.2, *[usual_s] * 5, 0.2))
    for number in range(7):
        desk.judge_at(float(number))
    desk.take(stopped(7.0))
    assert REST_FOR_WORK * usual_s < desk.judging.due_in_s() < REST_FOR_WORK * 0.2 / 2

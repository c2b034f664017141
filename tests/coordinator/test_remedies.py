"""Who decides about failures, when, and what stands in the journal of it."""

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import pytest

from holdfast.coordinator.remedies import ANSWER_S_MAX, Remedies, carried
from holdfast.diagnose import diagnose
from holdfast.model.cluster import TaskId
from holdfast.model.evidence import Evidence
from holdfast.model.facts import (
    AttemptStarted,
    Fact,
    ProcessSeen,
    StopAsked,
    TaskExited,
    TaskStarted,
    TimePassed,
)
from holdfast.model.recovery_facts import ProgramRead, RemedyAnswered, RemedyDecided
from holdfast.model.watch_facts import StepsSeen
from holdfast.recover.by_journal import DECIDED_WITHIN_S
from holdfast.recover.decision import Ask, Ending, RelaunchAll, Stop
from holdfast.recover.fresh import since_restart
from holdfast.recover.policy import OnFailure, Policy

PS, CHIEF = TaskId("ps", 0), TaskId("chief", 0)
W0, W1 = TaskId("worker", 0), TaskId("worker", 1)
TASKS = (PS, CHIEF, W0, W1)
KILLED = TaskExited(at_s=100.0, host="a", task=W1, signal=9)


def begun(program: str = "ParameterServerStrategy") -> list[Fact]:
    names = tuple(map(str, TASKS))
    return [
        AttemptStarted(at_s=0.0, host="a", began_unix_s=9.0, tasks=names, holdfast="1"),
        ProgramRead(at_s=0.0, host="a", path="train.py", mentions=(program,)),
        *(TaskStarted(at_s=1.0, host="a", task=task, pid=7) for task in TASKS),
    ]


def over() -> list[Fact]:
    """All have ended: worker:1 by a signal, the others of that."""
    others = [TaskExited(at_s=101.0, host="a", task=task, exit_code=1) for task in (CHIEF, W0)]
    return [*begun(), KILLED, *others, TaskExited(at_s=102.0, host="a", task=PS, exit_code=0)]


@dataclass
class Desk:
    """A journal, a clock that is moved by hand, and a door at which somebody may stand."""

    on_failure: OnFailure = OnFailure.RECOVER
    dry_run: bool = False
    at_s: float = 100.6
    facts: list[Fact] = field(default_factory=list)
    callers: list[Fact] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.remedies = Remedies(
            Policy(on_failure=self.on_failure), dry_run=self.dry_run, host="a", now=self._now
        )
        self._readable, writable = os.pipe()
        os.write(writable, b"x")
        os.close(writable)

    def _now(self) -> float:
        self.at_s += 0.01
        return self.at_s

    def take(self, batch: list[Fact]) -> None:
        self.facts += batch

    def waitables(self) -> dict[int, Callable[[], Iterator[list[Fact]]]]:
        return {self._readable: self._next}

    def _next(self) -> Iterator[list[Fact]]:
        self.at_s += 60.0
        yield [self.callers.pop(0)] if self.callers else []

    def while_it_runs(self, facts: Sequence[Fact]) -> list[RemedyDecided]:
        diagnosis = diagnose(Evidence(since_restart(facts)))
        decided = self.remedies.while_it_runs(facts, diagnosis)
        return [fact for fact in decided if isinstance(fact, RemedyDecided)]


def test_who_may_come_back_alone_is_restarted_while_the_others_train() -> None:
    desk, facts = Desk(), [*begun(), KILLED]
    (restart,) = desk.while_it_runs(facts)
    assert (restart.remedy, restart.tasks, restart.dry_run) == ("restart", ("worker:1",), False)
    assert desk.while_it_runs([*facts, restart]) == [], "it is decided once"


def test_a_second_death_of_the_same_task_is_a_new_failure() -> None:
    desk, facts = Desk(), [*begun(), KILLED]
    (restart,) = desk.while_it_runs(facts)
    back = TaskStarted(at_s=101.0, host="a", task=W1, pid=8)
    again = TaskExited(at_s=103.0, host="a", task=W1, signal=9)
    desk.at_s = 103.6
    (second,) = desk.while_it_runs([*facts, restart, back, again])
    assert (second.remedy, second.wait_s > 0) == ("restart", True)


@pytest.mark.parametrize(
    "facts",
    [
        begun(),
        [*begun(), TaskExited(at_s=100.0, host="a", task=W1, exit_code=0)],
        [*begun("MultiWorkerMirroredStrategy"), KILLED],
        over(),
    ],
    ids=["nobody failed", "one is done", "nobody knows who may", "nobody trains"],
)
def test_else_it_is_decided_at_the_end(facts: list[Fact]) -> None:
    assert Desk().while_it_runs(facts) == []


@pytest.mark.parametrize("on_failure", [OnFailure.STOP, OnFailure.ASK])
def test_nobody_is_restarted_unasked(on_failure: OnFailure) -> None:
    assert Desk(on_failure).while_it_runs([*begun(), KILLED]) == []


def test_an_old_failure_is_no_news() -> None:
    assert Desk(at_s=100 + DECIDED_WITHIN_S).while_it_runs([*begun(), KILLED]) == []


def test_a_dry_run_tells_a_restart_once() -> None:
    desk, facts = Desk(dry_run=True), [*begun(), KILLED]
    (told,) = desk.while_it_runs(facts)
    assert told.dry_run
    assert desk.while_it_runs([*facts, told]) == []


LOST_PS = TaskExited(at_s=100.0, host="a", task=PS, signal=9)


def test_a_job_that_cannot_go_on_is_relaunched_at_once_and_that_is_decided_once() -> None:
    desk = Desk(facts=[*begun(), LOST_PS])
    (relaunch,) = desk.while_it_runs(desk.facts)
    assert (relaunch.remedy, relaunch.culprit, relaunch.since_s) == ("relaunch", PS, 100.0)
    desk.take([relaunch])
    assert desk.while_it_runs(desk.facts) == []
    desk.take(over()[len(begun()) :])
    assert desk.remedies.at_the_end(desk).action == RelaunchAll()
    assert [fact for fact in desk.facts if isinstance(fact, RemedyDecided)] == [relaunch]


@pytest.mark.parametrize("on_failure", [OnFailure.STOP, OnFailure.ASK])
def test_nobody_is_ended_unasked(on_failure: OnFailure) -> None:
    assert Desk(on_failure).while_it_runs([*begun(), LOST_PS]) == []


def test_a_dry_run_tells_of_a_relaunch_at_once_and_not_again_at_the_end() -> None:
    desk = Desk(dry_run=True, facts=[*begun(), LOST_PS])
    (told,) = desk.while_it_runs(desk.facts)
    assert (told.remedy, told.dry_run) == ("relaunch", True)
    desk.take([told])
    assert desk.while_it_runs(desk.facts) == []
    desk.take(over()[len(begun()) :])
    decision = desk.remedies.at_the_end(desk)
    assert decision.action == RelaunchAll()
    assert not desk.remedies.is_to_be_done(decision)
    assert [fact for fact in desk.facts if isinstance(fact, RemedyDecided)] == [told]


def test_a_dry_run_tells_also_of_a_second_failure() -> None:
    hung = RemedyDecided(
        at_s=50.0,
        host="a",
        remedy="relaunch",
        reason="it hung, and went on",
        cause="stopped",
        culprit=CHIEF,
        dry_run=True,
    )
    (told,) = Desk(dry_run=True).while_it_runs([*begun(), hung, LOST_PS])
    assert (told.remedy, told.culprit, told.dry_run) == ("relaunch", PS, True)


def test_a_dry_run_waits_for_who_hangs_and_then_says_what_it_would_do() -> None:
    desk = Desk(dry_run=True, facts=begun(), at_s=102.5)
    desk.take([ProcessSeen(at_s=102.5, host="a", task=CHIEF, pid=7, state="T", lasting_s=2.5)])
    for _ in range(9):
        told = desk.while_it_runs(desk.facts)
        desk.take([*told])
        desk.at_s += max((fact.wait_s for fact in told), default=5.0)
    decided = [fact for fact in desk.facts if isinstance(fact, RemedyDecided)]
    assert [(fact.remedy, fact.dry_run) for fact in decided] == [
        ("wait", False),
        ("wait", False),
        ("relaunch", True),
    ]


def test_at_the_end_a_decision_is_written_down_once() -> None:
    desk = Desk(facts=over())
    decision = desk.remedies.at_the_end(desk)
    assert decision.action == RelaunchAll()
    assert desk.remedies.is_to_be_done(decision)
    assert desk.remedies.at_the_end(desk) == decision
    assert len([fact for fact in desk.facts if isinstance(fact, RemedyDecided)]) == 1


def test_the_budget_counts_what_was_done_in_earlier_attempts() -> None:
    relaunch = RemedyDecided(at_s=50.0, host="a", remedy="relaunch", reason="why")
    earlier = [*(fact for fact in begun()), relaunch, TimePassed(at_s=51.0, host="a")]
    assert relaunch in carried(earlier)
    assert TimePassed(at_s=51.0, host="a") not in carried(earlier)


def test_the_last_step_of_an_earlier_attempt_counts_although_it_was_told_late() -> None:
    relaunch = RemedyDecided(at_s=50.0, host="a", remedy="relaunch", reason="why", cause="x")
    late = [StepsSeen(at_s=49.9, host="a", task=W1, step=step, source="log") for step in (50, 44)]
    (decided,) = [one for one in carried([relaunch, *late]) if isinstance(one, RemedyDecided)]
    assert decided.step == 50


def test_what_is_only_told_is_not_done() -> None:
    desk = Desk(dry_run=True, facts=over())
    assert not desk.remedies.is_to_be_done(desk.remedies.at_the_end(desk))


def test_it_is_waited_as_long_as_was_decided() -> None:
    desk = Desk(facts=over())
    decision = desk.remedies.at_the_end(desk)
    ready = iter([False, False, True])
    assert desk.remedies.wait(decision, desk, desk, ready=lambda: next(ready))


def test_whoever_asks_for_the_end_while_we_wait_gets_it() -> None:
    asked = StopAsked(at_s=110.0, host="a", by="Ctrl-C", signal=2)
    desk = Desk(facts=over(), callers=[asked])
    decision = desk.remedies.at_the_end(desk)
    assert not desk.remedies.wait(decision, desk, desk, ready=lambda: False)
    desk.remedies.give_up(decision, desk, "")
    assert desk.remedies.at_the_end(desk).action == Stop(Ending.ASKED, 130)


@pytest.mark.parametrize("yes", [True, False])
def test_an_answer_decides(*, yes: bool) -> None:
    answer = RemedyAnswered(at_s=110.0, host="a", by="me", yes=yes)
    desk = Desk(OnFailure.ASK, facts=over(), callers=[answer])
    decision = desk.remedies.at_the_end(desk)
    assert decision.action == Ask(RelaunchAll())
    assert desk.remedies.is_to_be_done(decision)
    assert desk.remedies.wait(decision, desk, desk, ready=lambda: True) is yes
    if not yes:
        stop = desk.remedies.at_the_end(desk).action
        assert isinstance(stop, Stop)
        assert stop.ending is Ending.DECLINED


def test_silence_is_a_no() -> None:
    desk = Desk(OnFailure.ASK, facts=over())
    decision = desk.remedies.at_the_end(desk)
    since_s = desk.at_s
    assert not desk.remedies.wait(decision, desk, desk, ready=lambda: True)
    assert desk.at_s - since_s >= ANSWER_S_MAX
    (answer,) = [fact for fact in desk.facts if isinstance(fact, RemedyAnswered)]
    assert not answer.yes


def test_what_cannot_be_done_ends_with_its_reason() -> None:
    desk = Desk(facts=over())
    decision = desk.remedies.at_the_end(desk)
    desk.remedies.give_up(decision, desk, "the holder of the tasks is gone")
    stop = desk.remedies.at_the_end(desk)
    assert isinstance(stop.action, Stop)
    assert stop.action.ending is Ending.UNABLE
    assert stop.reason == "it cannot be started again: the holder of the tasks is gone"

"""A job is ended for one of its tasks only where it is known that nobody trains."""

from dataclasses import replace
from typing import Any

import pytest

from holdfast.model.cluster import TaskId
from holdfast.model.facts import AttemptStarted, Fact, ProcessSeen, TaskStarted
from holdfast.model.findings import Cause, Confidence, Finding, Proof
from holdfast.model.recovery_facts import ProgramRead, RemedyDecided
from holdfast.model.remedies import WaitAndSee
from holdfast.recover.by_journal import WAITS_MAX, decide_while_it_runs
from holdfast.recover.decision import Decision, RelaunchAll, Wait
from holdfast.recover.hanging import stands_still
from holdfast.recover.history import SPELL_S
from holdfast.recover.policy import Policy
from holdfast.recover.strategy import Strategy
from holdfast.recover.trouble import Trouble

PS, CHIEF, W0, W1 = TaskId("ps", 0), TaskId("chief", 0), TaskId("worker", 0), TaskId("worker", 1)
EVALUATOR = TaskId("evaluator", 0)
WITH_PS, WITHOUT = (PS, CHIEF, W0, W1), (W0, W1)
PARAMETERS, MIRRORED = Strategy.PARAMETER_SERVER, Strategy.MIRRORED
UNKNOWN = Strategy.UNKNOWN


def stands(tasks: tuple[TaskId, ...], **known: Any) -> Trouble:
    trains = frozenset(task for task in tasks if task.trains)
    return Trouble(attempt=1, tasks=tasks, failed=frozenset(), **{"training": trains, **known})


@pytest.mark.parametrize(
    ("trouble", "strategy", "culprit", "hangs"),
    [
        (stands(WITHOUT), MIRRORED, W1, True),
        (stands(WITHOUT, stepped_s={W0: 9.0}), MIRRORED, W1, True),
        (stands(WITHOUT, stepped_s={W0: 11.0}), MIRRORED, W1, False),
        (stands(WITHOUT, stepped_s={EVALUATOR: 11.0}), MIRRORED, W1, True),
        (stands(WITHOUT), UNKNOWN, W1, False),
        (stands(WITHOUT, training=frozenset({W1})), UNKNOWN, W1, True),
        (stands(WITHOUT, stepped_s={W1: 9.0}), UNKNOWN, W1, False),
        (stands(WITHOUT, stepped_s={W0: 9.0}), UNKNOWN, W1, False),
        (stands(WITHOUT, stepped_s={W0: 9.0}, still=frozenset({W0})), UNKNOWN, W1, True),
        (stands(WITH_PS, stepped_s={CHIEF: 9.0}), PARAMETERS, PS, False),
        (stands(WITH_PS, stepped_s={CHIEF: 9.0}, still=frozenset({CHIEF})), PARAMETERS, W1, True),
        (stands(WITH_PS), PARAMETERS, PS, True),
        (stands(WITH_PS, stepped_s={CHIEF: 9.0}), PARAMETERS, CHIEF, True),
        (stands(WITH_PS), PARAMETERS, W1, False),
        (stands(WITH_PS), PARAMETERS, None, False),
    ],
    ids=[
        "every step needs everybody",
        "the last step was before",
        "a step since then",
        "an evaluator does not train",
        "nobody tells anything",
        "there is nobody else",
        "only the culprit told steps",
        "another one told steps and may train on",
        "another one told steps and stands still",
        "the chief may train on",
        "the chief stands still",
        "nobody can do without a ps",
        "the chief is the job",
        "a worker is not needed",
        "nobody is to blame",
    ],
)
def test_a_job_stands_still(
    trouble: Trouble, strategy: Strategy, culprit: TaskId | None, *, hangs: bool
) -> None:
    assert stands_still(trouble, strategy=strategy, culprit=culprit, since_s=10.0) is hangs


STOPPED = ProcessSeen(at_s=10.0, host="a", task=W1, pid=7, state="T", lasting_s=2.5)
FOUND = Finding(
    name="stopped",
    cause=Cause(family="task-stalled", remedy=WaitAndSee(waits_s=(5.0,)), preview=False),
    proof=Proof(facts=(STOPPED,), says="worker:1 is stopped", culprit=W1, exit_code=124),
)
BEGUN: list[Fact] = [
    AttemptStarted(
        at_s=0, host="a", began_unix_s=9.0, tasks=("worker:0", "worker:1"), holdfast="1"
    ),
    ProgramRead(at_s=0, host="a", path="train.py", mentions=("MultiWorkerMirroredStrategy",)),
    *(TaskStarted(at_s=0.1, host="a", task=task, pid=7) for task in WITHOUT),
    STOPPED,
]


def at_once(found: Finding, *more: Fact, at_s: float) -> Decision | None:
    return decide_while_it_runs([*BEGUN, *more], [found], Policy(), at_s=at_s)


def wait(at_s: float) -> RemedyDecided:
    return RemedyDecided(
        at_s=at_s, host="a", remedy="wait", reason="", cause="stopped", culprit=W1, wait_s=5.0
    )


def test_a_wait_is_over_when_it_is_over() -> None:
    first = at_once(FOUND, at_s=10.0)
    assert first is not None
    assert (first.action, first.wait_s) == (Wait(), 5.0)
    assert at_once(FOUND, wait(10.0), at_s=14.9) is None
    for at_s in (14.96, 15.0, 15.0 + SPELL_S):
        after = at_once(FOUND, wait(10.0), at_s=at_s)
        assert after is not None
        assert after.action == RelaunchAll()


def test_what_comes_and_goes_all_the_time_is_left_to_a_person() -> None:
    often = [wait(1000.0 * number) for number in range(WAITS_MAX)]
    later_s = 1000.0 * WAITS_MAX
    assert at_once(FOUND, *often[1:], at_s=later_s) is not None
    assert at_once(FOUND, *often, at_s=later_s) is None


@pytest.mark.parametrize(
    "found",
    [
        replace(FOUND, cause=replace(FOUND.cause, preview=True)),
        *(
            replace(FOUND, proof=replace(FOUND.proof, confidence=confidence))
            for confidence in (Confidence.LIKELY, Confidence.GUESS)
        ),
    ],
    ids=["on trial", "likely", "a guess"],
)
def test_nothing_is_done_at_once_about_what_is_not_sure(found: Finding) -> None:
    assert at_once(found, at_s=10.0) is None
    assert at_once(found, wait(10.0), at_s=15.0) is None


def test_nobody_is_ended_when_nothing_is_found() -> None:
    assert decide_while_it_runs(BEGUN, [], Policy(), at_s=10.0) is None

"""What a new supervisor makes of the journal that another left, and of ends that nobody saw."""

from typing import Any

import pytest

from holdfast.diagnose import diagnose
from holdfast.diagnose.states import task_states
from holdfast.model.cluster import TaskId
from holdfast.model.errors import BadInput
from holdfast.model.evidence import Evidence
from holdfast.model.facts import (
    AttemptEnded,
    AttemptStarted,
    Fact,
    ProbeBlind,
    SignalSent,
    StopAsked,
    TaskExited,
    TaskStarted,
    TimePassed,
)
from holdfast.model.findings import Verdict
from holdfast.model.orders import SendSignal, StartAgain, WatchIdle
from holdfast.model.recovery_facts import RemedyDecided
from holdfast.model.submission import plan_left
from holdfast.model.watch_facts import TakenOver
from holdfast.recover import conclude
from holdfast.recover.life import Life, Phase, advance
from holdfast.recover.resuming import replayed

CHIEF, PS, WORKER = TaskId("chief", 0), TaskId("ps", 0), TaskId("worker", 0)
TASKS = (CHIEF, PS, WORKER)
SIGTERM = 15
BEGAN = AttemptStarted(
    at_s=0.0, host="a", began_unix_s=1.0, tasks=tuple(map(str, TASKS)), holdfast="1"
)


def started(*tasks: TaskId) -> list[Fact]:
    return [TaskStarted(at_s=1.0, host="a", task=task, pid=7) for task in tasks]


def exited(task: TaskId, at_s: float, **how: Any) -> TaskExited:
    return TaskExited(at_s=at_s, host="a", task=task, **how)


def life(*facts: Fact) -> Life:
    return replayed(Life(tasks=TASKS, grace_s=15.0), facts)


def test_a_restart_that_was_ordered_and_not_done_is_ordered_again() -> None:
    """The supervisor died between the order and the deed."""
    decided = RemedyDecided(at_s=9.0, host="a", remedy="restart", reason="why", tasks=("worker:0",))
    ticks = [TimePassed(at_s=at_s, host="a") for at_s in (9.5, 10.0)]
    died = [*started(*TASKS), exited(WORKER, 8.0, signal=9), decided, ticks[0]]
    _, orders = advance(life(*died), ticks[1])
    assert [order.task for order in orders if isinstance(order, StartAgain)] == [WORKER]
    back = TaskStarted(at_s=9.7, host="a", task=WORKER, pid=8)
    _, orders = advance(life(*died, back), ticks[1])
    assert orders == ()


STOP = StopAsked(at_s=5.0, host="a", by="me", signal=SIGTERM)
SENT = SignalSent(at_s=5.1, host="a", task=WORKER, signal=SIGTERM, why="me")


def test_a_signal_that_was_ordered_and_not_sent_is_ordered_again() -> None:
    """The supervisor died between the order and the deed, for the chief only."""
    left = life(*started(*TASKS), STOP, SENT)
    assert left.phase is Phase.STOPPING
    _, orders = advance(left, TimePassed(at_s=6.0, host="a"))
    assert [(order.task, order.signal) for order in orders if isinstance(order, SendSignal)] == [
        (CHIEF, SIGTERM)
    ]


def test_idle_tasks_are_watched_for_again() -> None:
    left = life(*started(*TASKS), exited(CHIEF, 9.0, exit_code=0))
    assert left.watched == {}
    _, orders = advance(left, TakenOver(at_s=20.0, host="a", gone_s=10.0, pid=1))
    assert [order.task for order in orders if isinstance(order, WatchIdle)] == [WORKER]


def test_a_life_that_was_over_stays_over() -> None:
    ends = [exited(task, 9.0, exit_code=0) for task in TASKS]
    assert life(*started(*TASKS), *ends).phase is Phase.ENDED


def test_an_end_that_nobody_saw_makes_nobody_end_the_others() -> None:
    left = life(*started(*TASKS), exited(PS, 9.0))
    left, orders = advance(left, TimePassed(at_s=90.0, host="a"))
    assert left.phase is Phase.TRAINING
    assert not [order for order in orders if isinstance(order, SendSignal)]


GONE = [
    BEGAN,
    *started(*TASKS),
    ProbeBlind(at_s=3.0, host="a", probe="holder", why="it is gone"),
    exited(CHIEF, 9.0, exit_code=0),
    exited(WORKER, 9.5),
    SignalSent(at_s=10.0, host="a", task=PS, signal=SIGTERM, why="over"),
    exited(PS, 10.5),
]


def test_an_end_that_nobody_saw_is_neither_well_nor_a_failure() -> None:
    evidence = Evidence([*GONE, AttemptEnded(at_s=11.0, host="a", exit_code=69, why="")])
    diagnosis = diagnose(evidence)
    assert diagnosis.verdict is Verdict.CANNOT_TELL
    assert diagnosis.findings == ()
    assert diagnosis.healthy == (CHIEF, PS)
    assert diagnosis.unknown == (
        "how worker:0 ended: the process that held it was gone, and the kernel told nobody",
        "holder: it is gone",
    )
    assert task_states(evidence, ())[WORKER].says == "gone, and nobody saw how"


@pytest.mark.parametrize(
    ("more", "code", "why"),
    [
        ([], 69, "nobody saw how worker:0 ended"),
        ([STOP], 143, "stopped by me"),
    ],
    ids=["by itself", "asked to stop"],
)
def test_the_exit_code_says_that_nobody_knows(more: list[Fact], code: int, why: str) -> None:
    evidence = Evidence([*GONE, *more])
    conclusion = conclude(evidence, diagnose(evidence))
    assert (conclusion.exit_code, conclusion.why) == (code, why)


ABOUT: dict[str, Any] = {
    "run_id": "20261115-1",
    "job": {"grace_s": 3, "keep_bytes": None, "start_deadline_s": 120},
    "cluster": {"worker:0": "a:1"},
}


def test_a_plan_without_its_values_still_says_who_and_where() -> None:
    plan = plan_left(ABOUT, ["worker:0", "evaluator:0"], run_dir="/runs/1")
    assert [(str(one.task), one.address) for one in plan.tasks] == [
        ("worker:0", "a:1"),
        ("evaluator:0", ""),
    ]
    assert (plan.run_id, plan.run_dir, plan.grace_s) == ("20261115-1", "/runs/1", 3.0)
    assert not plan.watch_start


@pytest.mark.parametrize("about", [[], {}, {**ABOUT, "job": {"grace_s": "soon"}}])
def test_a_run_file_that_describes_no_run_is_refused(about: object) -> None:
    with pytest.raises(BadInput, match="does not describe a run"):
        plan_left(about, ["worker:0"], run_dir="/runs/1")

"""A start-up stands still only when somebody is missing and everybody else has nothing to do."""

from typing import Any

import pytest

from holdfast.model.cluster import TaskId
from holdfast.model.facts import (
    EnvironmentSeen,
    Fact,
    LogLine,
    PathProbed,
    SpecRead,
    SpecUnreadable,
    TaskExited,
    TaskIdle,
    TimePassed,
)
from holdfast.recover.starting import Standstill, Start, notice, standstill

CHIEF, PS, A, B = (TaskId.parse(name) for name in ("chief:0", "ps:0", "worker:0", "worker:1"))


def look(task: TaskId, outcome: str, at_s: float = 1.0) -> PathProbed:
    name = str(task) if outcome == "answered" else ""
    address = f"{task.role}-{task.index}:1"
    return PathProbed(at_s=at_s, host="h", address=address, outcome=outcome, target=task, name=name)


def idle(task: TaskId, at_s: float = 30.0, idle_s: float = 9.0) -> TaskIdle:
    return TaskIdle(at_s=at_s, host="h", task=task, idle_s=idle_s)


def still(*facts: Fact, members: tuple[TaskId, ...] = (PS, A, B)) -> Standstill | None:
    start = Start()
    for fact in facts:
        start = notice(start, fact)
    return standstill(start, members, at_s=32.0, idle_s=5.0, news_s=7.0)


UP = (look(PS, "answered"), look(A, "answered"))


def test_the_others_have_nothing_to_do() -> None:
    found = still(*UP, look(B, "refused"), idle(A))
    assert found == Standstill(
        missing=(B,),
        waiting=(A,),
        says="worker:0 waits for worker:1, which has not opened its port yet (worker-1:1)",
    )


@pytest.mark.parametrize(
    "facts",
    [
        (*UP, look(B, "answered"), idle(A), idle(B)),  # all are there
        (*UP, look(B, "refused")),  # worker:0 works
        (*UP, look(B, "refused"), idle(A, at_s=20)),  # old news
        (*UP, look(B, "refused"), idle(A, idle_s=4)),  # just for a moment
        (look(A, "refused"), look(B, "refused"), idle(A)),  # no TensorFlow at all, so far
        (look(PS, "answered"), look(A, "refused"), look(B, "refused"), idle(A)),  # nobody waits
        (*UP, idle(A)),  # nobody has looked for worker:1
        (TimePassed(at_s=1, host="h"),),
    ],
)
def test_it_goes_on(facts: tuple[Fact, ...]) -> None:
    assert still(*facts) is None


def test_a_chief_that_connects_waits() -> None:
    members = (CHIEF, PS, A, B)
    found = still(
        *UP, look(CHIEF, "stalled"), look(B, "refused"), idle(A), idle(CHIEF), members=members
    )
    assert found is not None
    assert found.missing == (B,)
    assert found.waiting == (CHIEF, A)
    facts = (*UP, look(CHIEF, "stalled"), look(B, "answered"), idle(A), idle(B))
    assert still(*facts, members=members) is None  # it may only be about to answer
    alone = still(*facts, look(CHIEF, "stalled", 5), members=members)
    assert alone is not None
    assert alone.missing == (CHIEF,)
    # Without the one that has failed it will wait for ever, which is not its fault.
    failed = TaskExited(at_s=6, host="h", task=B, exit_code=1)
    assert still(*facts, look(CHIEF, "stalled", 5), failed, members=members) is None


def test_who_failed_before_it_joined_is_waited_for() -> None:
    failed = TaskExited(at_s=6, host="h", task=B, exit_code=1)
    for seen in ((), (look(B, "stalled"),)):
        found = still(*UP, *seen, failed, idle(A))
        assert found is not None
        assert found.says == "worker:0 waits for worker:1, which has ended"
    well = TaskExited(at_s=6, host="h", task=B, exit_code=0)
    assert still(*UP, well, idle(A)) == still(*UP, failed, idle(A))
    assert still(*UP, look(B, "answered"), failed, idle(A)) is None


def test_a_task_that_answered_once_stays_ready() -> None:
    assert still(*UP, look(B, "answered"), look(B, "refused"), idle(A), idle(B)) is None


def test_several_missing_are_told_in_one_sentence() -> None:
    found = still(look(A, "answered"), look(PS, "unresolved"), look(B, "blind"), idle(A))
    assert found is not None
    assert found.says == (
        "worker:0 waits for ps:0, which has a name that does not resolve (ps-0:1); so for worker:1"
    )


def line(task: TaskId, text: str, at_s: float = 20.0) -> LogLine:
    return LogLine(at_s=at_s, host="h", task=task, text=text)


ALL = (*UP, look(B, "answered"), idle(A), idle(B))
OWN = "worker:0 waits for worker:1, which answers, but has a definition or a proxy of its own"
STRAGGLES = line(A, "/job:worker/replica:0/task:1")


@pytest.mark.parametrize(
    ("facts", "says"),
    [
        ((STRAGGLES,), "worker:0 waits for worker:1, which answers, but has not joined"),
        (
            (line(A, "CreateSession still waiting for response from worker: /job:worker/task:1"),),
            "worker:0 waits for worker:1, which answers, but has not joined",
        ),
        (
            (SpecRead(at_s=1, host="h", task=B, source="pid 7", cluster={}),),
            OWN,
        ),
        (
            (SpecUnreadable(at_s=1, host="h", task=B, source="pid 7", mistake="empty"),),
            OWN,
        ),
        (
            (EnvironmentSeen(at_s=1, host="h", task=B, variables={}),),
            OWN,
        ),
    ],
)
def test_all_answer_and_some_still_wait(facts: tuple[Fact, ...], says: str) -> None:
    found = still(*ALL, *facts)
    assert found is not None
    assert found.says == says


@pytest.mark.parametrize(
    "facts",
    [
        (),
        (STRAGGLES, line(A, "/job:worker/replica:0/task:1 has connected to coordination service")),
        (line(A, "CreateSession still waiting for response from worker: /job:worker/task:1", 9),),
        (line(A, "step 20 loss 0.1"),),
        (SpecRead(at_s=1, host="h", task=A, source="holdfast run", cluster={}, given=True),),
    ],
)
def test_all_answer_and_nobody_is_missed(facts: tuple[Fact, ...]) -> None:
    assert still(*ALL, *facts) is None


def test_all_are_told_otherwise_and_one_cannot_be_found() -> None:
    """As when every definition has a name that does not resolve."""
    own = [SpecRead(at_s=1, host="h", task=task, source="p", cluster={}) for task in (PS, A, B)]
    place: dict[str, Any] = {"host": "h", "address": "b.invalid:1", "target": B, "task": A}
    unknown = PathProbed(at_s=9, outcome="unresolved", **place)
    found = still(*ALL, *own, unknown)
    assert found is not None
    assert found.says == (
        "worker:0 waits for worker:1, which cannot be found where their definitions have it"
    )
    assert still(*ALL, *own, unknown, PathProbed(at_s=10, outcome="answered", **place)) is None

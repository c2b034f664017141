"""Who waits for whom: the culprit is the one that waits for nobody."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.diagnose.waits import WaitsFor, waits_for
from holdfast.model.cluster import TaskId
from holdfast.model.evidence import Evidence
from holdfast.model.facts import AttemptStarted, LogLine
from holdfast.model.findings import Cause, Finding, Proof
from holdfast.model.remedies import AskHuman

A, B, C, D = (TaskId("worker", index) for index in range(4))


def graph(*edges: tuple[TaskId, TaskId]) -> WaitsFor:
    waiters = {waiter for waiter, _ in edges}
    return WaitsFor({one: frozenset(b for a, b in edges if a == one) for one in waiters})


CHAIN = graph((A, B), (B, C))
CYCLE = graph((A, B), (B, C), (C, A), (D, A))


@pytest.mark.parametrize(
    ("waits", "waiter", "awaited", "reaches"),
    [
        (CHAIN, A, B, True),
        (CHAIN, A, C, True),
        (CHAIN, C, A, False),
        (CHAIN, A, A, False),
        (CHAIN, None, A, False),
        (CHAIN, A, None, False),
        (CHAIN, D, A, False),
        (CYCLE, A, A, True),
        (CYCLE, D, C, True),
        (CYCLE, A, D, False),
    ],
)
def test_reaching(
    waits: WaitsFor, waiter: TaskId | None, awaited: TaskId | None, *, reaches: bool
) -> None:
    assert waits.reaches(waiter, awaited) is reaches


@pytest.mark.parametrize(
    ("waits", "victim", "culprit", "is_victim"),
    [
        (CHAIN, A, C, True),
        (CHAIN, C, A, False),
        (CHAIN, A, A, False),
        (CYCLE, A, B, False),
        (CYCLE, D, B, True),
    ],
)
def test_in_a_cycle_nobody_is_the_others_victim(
    waits: WaitsFor, victim: TaskId, culprit: TaskId, *, is_victim: bool
) -> None:
    assert waits.is_victim_of(victim, culprit) is is_victim


tasks = st.sampled_from([A, B, C, D])


@given(st.lists(st.tuples(tasks, tasks), max_size=12), tasks, tasks, tasks)
def test_victims_are_ordered(
    edges: list[tuple[TaskId, TaskId]], one: TaskId, two: TaskId, three: TaskId
) -> None:
    waits = graph(*edges)
    if waits.is_victim_of(one, two):
        assert not waits.is_victim_of(two, one)
        if waits.is_victim_of(two, three):
            assert waits.is_victim_of(one, three)


def finding(text: str, *, seen_at: TaskId | None, culprit: TaskId | None, echo: bool) -> Finding:
    said = LogLine(at_s=1, host="a", task=seen_at, text=text)
    cause = Cause(family="unknown", detect=lambda _: iter(()), remedy=AskHuman(), echo=echo)
    proof = Proof(facts=(said,), says="", culprit=culprit, seen_at=seen_at)
    return Finding(name="peer-gone", cause=cause, proof=proof)


def test_edges_come_from_those_who_speak_of_others() -> None:
    started = AttemptStarted(
        at_s=0, host="a", began_unix_s=0, tasks=tuple(map(str, (A, B, C, D))), holdfast=""
    )
    named = "/job:worker/task:2 and /job:worker/task:0 and /job:stranger/task:9"
    proven = [
        finding(named, seen_at=A, culprit=B, echo=True),
        finding("nobody", seen_at=B, culprit=None, echo=True),
        finding(named, seen_at=C, culprit=B, echo=False),
        finding(named, seen_at=None, culprit=B, echo=True),
    ]
    assert waits_for(Evidence([started]), proven).edges == {
        A: frozenset({B, C}),
        B: frozenset(),
    }

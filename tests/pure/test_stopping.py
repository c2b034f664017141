"""The stop matrix: which signal goes to whom, and when the next one is due."""

import pytest

from holdfast.model.cluster import TaskId
from holdfast.recover.stopping import INTERRUPT_SHARE, Asked, asks_with, due_signals

PS, CHIEF, EVALUATOR = TaskId("ps", 0), TaskId("chief", 0), TaskId("evaluator", 0)
WORKER, PEER = TaskId("worker", 0), TaskId("worker", 1)
INT, KILL, TERM, HUP, USR1 = 2, 9, 15, 1, 10
GRACE_S = 15.0
SOON_S = GRACE_S * INTERRUPT_SHARE


def due(
    *running: TaskId,
    asked: dict[TaskId, Asked] | None = None,
    at_s: float = 100.0,
    first: int = TERM,
    grace_s: float = GRACE_S,
    workers_serve: bool = False,
    saves_on: int = TERM,
) -> dict[TaskId, int]:
    return due_signals(
        running,
        workers_serve=workers_serve,
        asked=asked or {},
        first=first,
        grace_s=grace_s,
        at_s=at_s,
        saves_on=saves_on,
    )


def test_who_trains_is_asked_first_and_who_serves_waits() -> None:
    assert due(PS, CHIEF, WORKER, EVALUATOR, first=INT) == {CHIEF: INT, WORKER: INT}


def test_who_serves_is_ended_when_nobody_trains() -> None:
    assert due(PS, EVALUATOR, first=INT) == {PS: TERM, EVALUATOR: TERM}


def test_nobody_waits_for_a_trainer_that_was_killed_already() -> None:
    killed = {WORKER: Asked(KILL, 99.0)}
    assert due(PS, WORKER, asked=killed) == {PS: TERM}
    assert due(PS, WORKER, PEER, asked=killed) == {PEER: TERM}


def test_without_its_chief_a_worker_only_serves() -> None:
    assert due(PS, WORKER, first=INT, workers_serve=True) == {WORKER: TERM}


@pytest.mark.parametrize(
    ("signal", "waited_s", "workers_serve", "then"),
    [
        (INT, 0.0, False, None),
        (INT, SOON_S - 0.1, False, None),
        (INT, SOON_S, False, TERM),
        (INT, 0.0, True, TERM),
        (HUP, SOON_S - 0.1, False, None),
        (HUP, SOON_S, False, TERM),
        (TERM, GRACE_S - 0.1, False, None),
        (TERM, GRACE_S, False, KILL),
        (TERM, GRACE_S - 0.1, True, None),
        (KILL, 1000.0, False, None),
    ],
)
def test_the_next_rung_of_a_worker(
    signal: int, waited_s: float, then: int | None, *, workers_serve: bool
) -> None:
    asked = {WORKER: Asked(signal, 100.0 - waited_s)}
    expected = {} if then is None else {WORKER: then}
    assert due(WORKER, asked=asked, first=INT, workers_serve=workers_serve) == expected


@pytest.mark.parametrize("signal", [None, INT, TERM])
def test_without_grace_everybody_is_killed_at_once(signal: int | None) -> None:
    asked = {} if signal is None else {WORKER: Asked(signal, 100.0)}
    assert due(PS, WORKER, asked=asked, grace_s=0) == {PS: KILL, WORKER: KILL}


def test_nobody_is_killed_twice() -> None:
    asked = {WORKER: Asked(KILL, 99.0), PS: Asked(KILL, 99.0)}
    assert due(PS, WORKER, asked=asked, grace_s=0) == {}
    assert due(PS, WORKER, asked=asked) == {}


def test_when_all_have_ended_nothing_is_due() -> None:
    assert due() == {}


@pytest.mark.parametrize(
    ("waited_s", "workers_serve", "then"),
    [
        (0.0, False, None),
        (GRACE_S - 0.1, False, None),
        (GRACE_S, False, KILL),
        (0.0, True, TERM),
    ],
)
def test_who_saves_has_all_its_grace_for_that(
    waited_s: float, then: int | None, *, workers_serve: bool
) -> None:
    """But whoever only serves by now has nothing to save."""
    asked = {WORKER: Asked(USR1, 100.0 - waited_s)}
    found = due(WORKER, asked=asked, first=USR1, saves_on=USR1, workers_serve=workers_serve)
    assert found == ({} if then is None else {WORKER: then})


def test_only_a_scheduler_speaks_the_jobs_own_language() -> None:
    assert asks_with(TERM, preempt_signal=USR1) == USR1
    assert asks_with(INT, preempt_signal=USR1) == INT

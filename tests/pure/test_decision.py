"""A decision in words and in the journal, and how long it waits."""

import pytest

from holdfast.model.cluster import TaskId
from holdfast.model.recovery_facts import RemedyDecided
from holdfast.recover.backoff import FIRST_S, LONGEST_S, backoff_s
from holdfast.recover.decision import (
    Action,
    Ask,
    Decision,
    Ending,
    GoOn,
    LeaveHost,
    RelaunchAll,
    RestartTasks,
    Stop,
    Wait,
    decision_in,
)

W0, W1 = TaskId("worker", 0), TaskId("worker", 1)


@pytest.mark.parametrize(
    ("action", "wait_s", "words"),
    [
        (RestartTasks((W0, W1)), 0.0, "restart worker:0 and worker:1: why"),
        (RelaunchAll(), 7.2, "relaunch all tasks in 7 s: why"),
        (RelaunchAll(fresh_ports=True), 0.0, "relaunch all tasks on other ports: why"),
        (LeaveHost("host-b"), 0.0, "relaunch all tasks without host-b: why"),
        (Wait(), 5.0, "look again in 5 s: why"),
        (Stop(Ending.LOOP, 1), 0.0, "stop with exit code 1: why"),
        (GoOn(Ending.NO_REMEDY), 0.0, "go on without it: why"),
        (Ask(RelaunchAll()), 0.0, "ask whether to relaunch all tasks: why"),
        (Ask(RestartTasks((W1,))), 0.0, "ask whether to restart worker:1: why"),
    ],
)
def test_a_decision_is_said_in_one_sentence(action: Action, wait_s: float, words: str) -> None:
    decision = Decision(
        action=action, reason="why", wait_s=wait_s, culprit=W1, culprit_host="host-b", step=7
    )
    assert decision.in_words() == words
    assert decision_in(decision.to_fact(at_s=1, host="a", attempt=1)) == decision


def test_the_wait_doubles_up_to_a_bound_and_chance_is_the_seed() -> None:
    assert backoff_s(0, seed=1) == 0.0
    assert {backoff_s(3, seed=7), backoff_s(3, seed=7)} == {backoff_s(3, seed=7)}
    assert len({backoff_s(3, seed=seed) for seed in range(50)}) > 40
    for tries in range(1, 100):
        whole_s = min(LONGEST_S, FIRST_S * 2 ** (tries - 1))
        assert all(whole_s / 2 <= backoff_s(tries, seed=seed) <= whole_s for seed in range(5))


def test_what_a_newer_holdfast_decided_is_left_to_a_person() -> None:
    fact = RemedyDecided(at_s=1, host="a", remedy="shrink", reason="why")
    assert decision_in(fact).action == Stop(Ending.POLICY, 1)

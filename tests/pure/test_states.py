"""The state of each task, from facts and findings."""

from dataclasses import replace
from typing import Any

import pytest

from holdfast.diagnose.states import task_states
from holdfast.model.cluster import TaskId
from holdfast.model.evidence import Evidence
from holdfast.model.facts import (
    AttemptStarted,
    Fact,
    PathProbed,
    SignalSent,
    TaskExited,
    TaskNotStarted,
)
from holdfast.model.findings import Cause, Confidence, Echo, Finding, Proof
from holdfast.model.remedies import AskHuman
from holdfast.model.watch_facts import StepsSeen, TaskSampled, TaskStill

WORKER, OTHER = TaskId("worker", 0), TaskId("worker", 1)
HERE: Any = {"at_s": 5.0, "host": "host-a", "task": WORKER}
BEGAN = AttemptStarted(
    at_s=0.0, host="host-a", began_unix_s=1.0, tasks=("worker:0", "worker:1"), holdfast="1"
)
READY = PathProbed(
    at_s=4.0, host="host-a", address="a:1", outcome="answered", target=WORKER, name="worker:0"
)
CAUSE = Cause(family="unknown", detect=lambda _: iter(()), remedy=AskHuman())


def finding(
    name: str, culprit: TaskId | None, confidence: Confidence, *, general: bool = False
) -> Finding:
    proof = Proof(facts=(BEGAN,), says="so it is", culprit=culprit, confidence=confidence)
    echo = Echo(task=OTHER, cause=name, says="waits for worker:0", since_s=1.0)
    return Finding(name=name, cause=replace(CAUSE, general=general), proof=proof, echoes=(echo,))


@pytest.mark.parametrize(
    ("facts", "name", "says"),
    [
        ([], "starting", "its server has not answered yet"),
        ([READY], "ready", "its server answers"),
        (
            [READY, TaskStill(still_s=12.0, usual_s=0.0, sign="processes", **HERE)],
            "ready",
            "its server answers, and does nothing for 12 s",
        ),
        (
            [READY, TaskSampled(pid=1, state="S", over_s=5.0, cpu_share=0.5, **HERE)],
            "training",
            "uses 50% of a core",
        ),
        (
            [READY, TaskSampled(pid=1, state="S", over_s=5.0, cpu_share=0.0, **HERE)],
            "ready",
            "its server answers",
        ),
        ([READY, StepsSeen(step=40, source="log", **HERE)], "training", "at step 40"),
        ([TaskExited(exit_code=0, **HERE)], "done", "ended with exit code 0"),
        ([TaskExited(exit_code=3, **HERE)], "dead", "ended with exit code 3"),
        ([TaskExited(signal=9, **HERE)], "dead", "ended on SIGKILL"),
        (
            [SignalSent(signal=15, why="x", **HERE), TaskExited(signal=15, **HERE)],
            "ended",
            "ended on SIGTERM",
        ),
        (
            [TaskNotStarted(command="x", errno_name="ENOENT", **HERE)],
            "dead",
            "could not be started: ENOENT",
        ),
    ],
)
def test_what_is_seen_of_a_task_is_its_state(facts: list[Fact], name: str, says: str) -> None:
    state = task_states(Evidence([BEGAN, *facts]), ())[WORKER]
    assert (state.name, state.says) == (name, says)


def test_a_proven_cause_makes_the_state_of_culprit_and_victims() -> None:
    found = finding("user-deadlock", WORKER, Confidence.HIGH)
    states = task_states(Evidence([BEGAN]), [found])
    assert (states[WORKER].name, states[OTHER].name) == ("deadlocked", "waiting")


def test_who_keeps_others_waiting_stands_and_these_wait() -> None:
    kept = finding("keeps-waiting", WORKER, Confidence.HIGH, general=True)
    states = task_states(Evidence([BEGAN]), [kept])
    assert (states[WORKER].name, states[OTHER].name) == ("standing", "waiting")


def test_a_cause_that_says_why_makes_the_state() -> None:
    kept = finding("keeps-waiting", WORKER, Confidence.HIGH, general=True)
    locked = finding("user-deadlock", WORKER, Confidence.HIGH)
    for findings in ([kept, locked], [locked, kept]):
        assert task_states(Evidence([BEGAN]), findings)[WORKER].name == "deadlocked"


@pytest.mark.parametrize(
    "found",
    [
        finding("user-deadlock", WORKER, Confidence.LIKELY),
        finding("packet-loss", WORKER, Confidence.HIGH),
    ],
)
def test_what_is_not_sure_or_no_state_changes_none(found: Finding) -> None:
    states = task_states(Evidence([BEGAN]), [found])
    assert {state.name for state in states.values()} == {"starting"}


def test_a_cut_without_a_culprit_leaves_only_victims() -> None:
    states = task_states(Evidence([BEGAN]), [finding("partition", None, Confidence.HIGH)])
    assert (states[WORKER].name, states[OTHER].name) == ("starting", "waiting")

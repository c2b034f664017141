"""The last look counts, and in a run only if it lasts."""

from typing import Any

import pytest

from holdfast.model.cluster import TaskId
from holdfast.model.evidence import Evidence
from holdfast.model.facts import (
    AttemptStarted,
    Fact,
    LogLine,
    PathProbed,
    PeersListed,
    SignalSent,
    SocketsSeen,
    StartBlocked,
    TaskExited,
)
from holdfast.model.path import Outcome
from holdfast.model.standing import anybody_ready, lasts, missing, standings, views
from holdfast.model.waiting import waits_in
from holdfast.model.watch_facts import ObserverLate, StepsSeen, TaskSampled

CHIEF, PS, A, B = (TaskId.parse(name) for name in ("chief:0", "ps:0", "worker:0", "worker:1"))
WHERE: dict[str, Any] = {"host": "h"}
BEGAN = AttemptStarted(at_s=0, host="h", began_unix_s=1.0, tasks=(), holdfast="0")


def look(target: TaskId, outcome: str, at_s: float = 1.0, **more: Any) -> PathProbed:
    name = str(target) if outcome == Outcome.ANSWERED else ""
    more = {"address": f"{target.role}-{target.index}:1", "name": name, **more}
    return PathProbed(at_s=at_s, outcome=outcome, target=target, **WHERE, **more)


def missed(*facts: Fact) -> set[str]:
    return set(map(str, missing(Evidence(facts))))


def pairs(*facts: Fact) -> set[tuple[str, str]]:
    return {(str(wait.waiter), str(wait.awaited)) for wait in waits_in(Evidence(facts))}


def test_the_last_look_counts() -> None:
    facts = (look(A, "refused", 1), look(A, "answered", 2))
    assert missed(*facts) == set()
    assert standings(Evidence(facts))[A].is_ready
    assert missed(*facts[::-1], look(A, "refused", 3)) == {"worker:0"}


def test_a_look_elsewhere_does_not_move_a_task() -> None:
    facts = (look(A, "refused", 1), look(A, "answered", 2, address="other:2"))
    assert missed(*facts) == {"worker:0"}


def test_a_look_from_a_tasks_own_place_is_not_ours() -> None:
    facts = (look(A, "filtered", 1, task=B), look(A, "answered", 1))
    assert missed(*facts) == set()
    assert len(list(views(Evidence(facts)))) == 2


def test_a_look_that_was_blind_accuses_nobody() -> None:
    assert missed(look(A, "blind")) == set()


def test_a_look_without_a_target_is_about_nobody() -> None:
    nobody = PathProbed(at_s=1, host="h", address="x:1", outcome="refused")
    assert missed(nobody) == set()
    assert not list(views(Evidence([nobody])))


@pytest.mark.parametrize(
    ("chief", "worker", "who"),
    [
        ("stalled", "refused", {"worker:1"}),
        ("stalled", "stalled", {"worker:1"}),
        ("stalled", "answered", {"chief:0"}),
        ("refused", "stalled", {"chief:0", "worker:1"}),
        ("answered", "stalled", {"worker:1"}),
    ],
)
def test_a_chief_that_connects_is_not_missing(chief: str, worker: str, who: set[str]) -> None:
    assert missed(look(CHIEF, chief), look(B, worker), look(PS, "answered")) == who


def test_a_chief_that_looks_for_one_that_failed_waits() -> None:
    exited = TaskExited(at_s=2, host="h", task=B, exit_code=1)
    facts = (look(CHIEF, "stalled"), look(PS, "answered"), exited)
    assert missed(*facts) == set()
    assert pairs(*facts) == {("chief:0", "worker:1")}


def test_in_a_run_a_bad_look_must_last() -> None:
    early = (BEGAN, look(A, "filtered", 1), look(A, "filtered", 29))
    assert missed(*early) == set()
    assert missed(*early, look(A, "filtered", 31)) == {"worker:0"}


def test_at_the_deadline_only_those_count_that_were_missing() -> None:
    blocked = StartBlocked(at_s=9, host="h", deadline_s=9, missing=("worker:0",), waiting=())
    facts = (BEGAN, look(A, "refused"), look(B, "refused"), blocked)
    assert missed(*facts) == {"worker:0"}
    assert lasts(Evidence(facts), standings(Evidence(facts))[A])


def test_nobody_is_ready_before_the_start() -> None:
    assert not anybody_ready(Evidence([look(A, "refused")]))


def test_of_several_hosts_whoever_gets_an_answer_knows_best() -> None:
    answered = PathProbed(
        at_s=1, host="g", address="a:1", outcome="answered", target=A, name="worker:0"
    )
    for facts in ((look(A, "refused"), answered), (answered, look(A, "refused", 2))):
        assert standings(Evidence(facts))[A].is_ready


def line(task: TaskId | None, text: str, at_s: float = 5.0) -> LogLine:
    return LogLine(at_s=at_s, task=task, text=text, **WHERE)


STILL = "CreateSession still waiting for response from worker: /job:worker/replica:0/task:1"


def test_a_task_that_says_so_waits() -> None:
    assert pairs(line(A, STILL), look(B, "refused")) == {("worker:0", "worker:1")}
    assert pairs(line(A, "/job:worker/replica:0/task:1"), look(B, "refused")) == {
        ("worker:0", "worker:1")
    }


@pytest.mark.parametrize(
    "facts",
    [
        (line(None, STILL), look(B, "refused")),
        (line(A, STILL),),  # nobody knows of worker:1
        (line(B, STILL), look(B, "refused")),  # itself
        (line(A, STILL), look(B, "answered", 6)),
        (line(A, STILL, 5), line(A, "x", 40), look(B, "refused")),  # it has stopped saying so
    ],
)
def test_a_wait_that_is_over_or_makes_no_sense(facts: tuple[Fact, ...]) -> None:
    assert pairs(*facts) == set()


def test_whoever_has_connected_is_no_longer_awaited() -> None:
    straggler = line(A, "/job:worker/replica:0/task:1")
    came = line(A, "/job:worker/replica:0/task:1 has connected to coordination service.", 6)
    assert pairs(straggler, came, look(B, "refused")) == set()
    assert pairs(straggler, came, look(B, "answered", 7)) == set()


def test_what_is_said_after_the_first_signal_does_not_count_as_late() -> None:
    sent = SignalSent(at_s=10, host="h", task=A, signal=15, why="x")
    late = line(A, "x", 100)
    assert pairs(line(A, STILL, 5), sent, late, look(B, "refused")) == {("worker:0", "worker:1")}


def test_a_connection_without_an_answer_is_a_wait() -> None:
    trying = SocketsSeen(at_s=1, task=A, trying=("worker-1:1", "x:9"), **WHERE)
    nobody = SocketsSeen(at_s=1, trying=("worker-1:1",), **WHERE)
    assert pairs(trying, nobody, look(B, "answered")) == {("worker:0", "worker:1")}


def test_whoever_still_looks_for_its_peers_waits_for_the_missing_one() -> None:
    blind = PeersListed(at_s=2, task=A, address="a:1", answered=False, **WHERE)
    seeing = PeersListed(at_s=2, task=PS, address="p:1", answered=True, **WHERE)
    nobody = PeersListed(at_s=2, address="p:1", answered=False, **WHERE)
    facts = (look(A, "answered"), look(PS, "answered"), look(B, "refused"), blind, seeing, nobody)
    assert pairs(*facts) == {("worker:0", "worker:1")}


def test_a_blocked_start_and_a_connecting_chief_are_waits() -> None:
    blocked = StartBlocked(
        at_s=9, host="h", deadline_s=9, missing=("worker:1",), waiting=("worker:0",)
    )
    facts = (BEGAN, look(B, "refused"), look(CHIEF, "stalled"), blocked)
    assert pairs(*facts) == {("worker:0", "worker:1"), ("chief:0", "worker:1")}


@pytest.mark.parametrize(
    ("source", "step", "who"),
    [
        ("log", 8, set()),
        ("told", 1, set()),
        ("log", 0, {"worker:1"}),
        ("checkpoint", 40, {"worker:1"}),
    ],
    ids=["it says so", "it tells us", "it only begins", "an old checkpoint lies there"],
)
def test_whoever_has_made_a_step_was_there(source: str, step: int, who: set[str]) -> None:
    steps = StepsSeen(at_s=5, task=B, step=step, source=source, **WHERE)
    assert missed(BEGAN, steps, look(B, "stalled", 10), look(B, "stalled", 45)) == who


def starved(task: TaskId) -> TaskSampled:
    return TaskSampled(
        at_s=31.0,
        task=task,
        pid=7,
        state="R",
        over_s=30.0,
        cpu_share=0.1,
        starved_share=0.5,
        **WHERE,
    )


@pytest.mark.parametrize(
    ("outcome", "task", "who"),
    [
        ("stalled", B, {"worker:0"}),
        ("stalled", A, set()),  # who gets no core answers nobody
        ("filtered", A, {"worker:0"}),  # packets need none of its cores
    ],
)
def test_time_without_a_core_does_not_count(outcome: str, task: TaskId, who: set[str]) -> None:
    facts = (BEGAN, look(A, outcome, 1), look(A, outcome, 31), starved(task))
    assert missed(*facts) == who


def test_time_in_which_we_did_not_get_to_look_does_not_count() -> None:
    late = ObserverLate(at_s=20.0, late_s=3.0, **WHERE)
    facts = (BEGAN, look(A, "filtered", 1), look(A, "filtered", 31))
    assert missed(*facts) == {"worker:0"}
    assert missed(*facts, late) == set()
    assert missed(*facts, late, look(A, "filtered", 34)) == {"worker:0"}

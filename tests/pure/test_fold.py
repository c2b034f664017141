"""One culprit, many victims: nothing that a cause explains is told as a cause of its own."""

from dataclasses import replace

from holdfast.diagnose.fold import READING_LAG_S, fold
from holdfast.diagnose.waits import WaitsFor
from holdfast.model.cluster import TaskId
from holdfast.model.evidence import Evidence
from holdfast.model.facts import AttemptStarted, Fact, TaskExited, TimePassed
from holdfast.model.findings import Cause, Finding, Proof
from holdfast.model.remedies import AskHuman

PS, CHIEF = TaskId("ps", 0), TaskId("chief", 0)
WORKER_0, WORKER_1 = TaskId("worker", 0), TaskId("worker", 1)
ALL = (PS, CHIEF, WORKER_0, WORKER_1)
PLAIN = Cause(family="unknown", detect=lambda _: iter(()), remedy=AskHuman())
ECHO = replace(PLAIN, echo=True)


def finding(
    name: str,
    culprit: TaskId | None,
    at_s: float,
    *,
    seen_at: TaskId | None = None,
    cause: Cause = PLAIN,
) -> Finding:
    fact = TimePassed(at_s=at_s, host="a")
    proof = Proof(facts=(fact,), says=f"{name} at {culprit}", culprit=culprit, seen_at=seen_at)
    return Finding(name=name, cause=cause, proof=proof)


def lost(task: TaskId, peer: TaskId | None, at_s: float) -> Finding:
    return finding("peer-gone", peer, at_s, seen_at=task, cause=ECHO)


def told(
    *proven: Finding, waits: dict[TaskId, set[TaskId]] | None = None, facts: tuple[Fact, ...] = ()
) -> list[str]:
    """Each finding as `cause at culprit: echoes`."""
    started = AttemptStarted(
        at_s=0, host="a", began_unix_s=0, tasks=tuple(map(str, ALL)), holdfast=""
    )
    edges = {waiter: frozenset(awaited) for waiter, awaited in (waits or {}).items()}
    findings = fold(proven, WaitsFor(edges), Evidence([started, *facts]))
    return [
        f"{found.name} at {found.proof.culprit}: {' '.join(str(e.task) for e in found.echoes)}"
        for found in findings
    ]


def test_without_findings_there_is_nothing_to_tell() -> None:
    assert told() == []


def test_who_waits_for_the_culprit_is_an_echo() -> None:
    assert told(
        lost(CHIEF, PS, 11),
        finding("killed", PS, 10),
        lost(WORKER_0, PS, 12),
        waits={CHIEF: {PS}, WORKER_0: {PS}},
    ) == ["killed at ps:0: chief:0 worker:0"]


def test_an_own_failure_of_a_victim_is_an_echo_too() -> None:
    assert told(
        finding("user-exception", CHIEF, 11),
        lost(CHIEF, PS, 11),
        finding("killed", PS, 10),
        waits={CHIEF: {PS}},
    ) == ["killed at ps:0: chief:0"]


def test_a_victim_through_others_is_an_echo() -> None:
    assert told(
        finding("killed", PS, 10),
        lost(WORKER_0, PS, 11),
        lost(CHIEF, WORKER_0, 12),
        waits={CHIEF: {WORKER_0}, WORKER_0: {PS}},
    ) == ["killed at ps:0: worker:0 chief:0"]


def test_a_failure_long_before_the_culprits_is_no_aftermath() -> None:
    early = finding("user-exception", CHIEF, 10)
    late = finding("killed", PS, 10 + READING_LAG_S + 1)
    assert told(early, late, waits={CHIEF: {PS}}) == [
        "killed at ps:0: ",
        "user-exception at chief:0: ",
    ]


def test_in_a_cycle_each_failure_stands_for_itself() -> None:
    assert told(
        finding("killed", WORKER_1, 12),
        finding("killed", WORKER_0, 11),
        waits={WORKER_0: {WORKER_1}, WORKER_1: {WORKER_0}},
    ) == ["killed at worker:0: ", "killed at worker:1: "]


def test_the_awaited_come_first_and_then_who_ended_first() -> None:
    ended = (TaskExited(at_s=9, host="a", task=WORKER_1, exit_code=1),)
    found = [
        finding("user-exception", WORKER_0, 10),
        finding("user-exception", WORKER_1, 11),
        finding("killed", PS, 12),
    ]
    assert told(*found, waits={CHIEF: {PS}}, facts=ended) == [
        "killed at ps:0: ",
        "user-exception at worker:1: ",
        "user-exception at worker:0: ",
    ]


def test_a_victim_that_names_nobody_suffers_from_the_first_failure_before_it() -> None:
    assert told(
        finding("killed", WORKER_1, 30), finding("crashed", PS, 10), lost(CHIEF, None, 12)
    ) == ["crashed at ps:0: chief:0", "killed at worker:1: "]


def test_a_task_is_no_echo_of_its_own_failure() -> None:
    assert told(finding("killed", PS, 10), lost(PS, CHIEF, 9), waits={PS: {CHIEF}}) == [
        "killed at ps:0: "
    ]


def test_who_noticed_a_fault_of_another_suffers_from_it() -> None:
    assert told(
        finding("port-conflict", WORKER_1, 10, seen_at=WORKER_0), lost(WORKER_0, CHIEF, 11)
    ) == ["port-conflict at worker:1: worker:0"]


def test_each_task_echoes_once_with_its_first_words() -> None:
    assert told(finding("killed", PS, 10), lost(CHIEF, PS, 12), lost(CHIEF, WORKER_0, 11)) == [
        "killed at ps:0: chief:0"
    ]


def test_the_more_exact_cause_wins() -> None:
    vague = replace(PLAIN, yields_to=frozenset({"disk-full"}))
    assert told(
        finding("user-exception", PS, 10, cause=vague),
        finding("disk-full", PS, 10),
        finding("user-exception", CHIEF, 10, cause=vague),
    ) == ["disk-full at ps:0: ", "user-exception at chief:0: "]


def test_a_finding_about_no_task_makes_no_echo() -> None:
    nobody = finding("peer-gone", None, 12, cause=ECHO)
    assert told(finding("killed", PS, 10), nobody) == ["killed at ps:0: "]
    assert told(nobody) == ["peer-gone at None: "]


def test_those_who_miss_the_same_peer_are_one_finding_about_it() -> None:
    assert told(
        lost(CHIEF, PS, 12), lost(WORKER_0, PS, 11), waits={CHIEF: {PS}, WORKER_0: {PS}}
    ) == ["peer-gone at ps:0: worker:0 chief:0"]


def test_without_a_root_the_blame_goes_to_the_end_of_the_chain() -> None:
    assert told(
        lost(CHIEF, WORKER_0, 11),
        lost(WORKER_0, PS, 12),
        waits={CHIEF: {WORKER_0}, WORKER_0: {PS}},
    ) == ["peer-gone at ps:0: chief:0 worker:0"]


def test_who_names_nobody_joins_those_who_do() -> None:
    assert told(lost(WORKER_1, None, 10), lost(CHIEF, PS, 11), waits={CHIEF: {PS}}) == [
        "peer-gone at ps:0: worker:1 chief:0"
    ]
    assert told(lost(WORKER_1, None, 10), lost(CHIEF, None, 9)) == [
        "peer-gone at None: chief:0 worker:1"
    ]


def test_two_lost_peers_are_two_findings_and_the_more_missed_comes_first() -> None:
    assert told(
        lost(WORKER_1, WORKER_0, 9),
        lost(CHIEF, PS, 11),
        lost(WORKER_0, PS, 12),
        waits={CHIEF: {PS}, WORKER_0: {PS}, WORKER_1: {WORKER_0}},
    ) == ["peer-gone at ps:0: worker:1 chief:0 worker:0"]
    evaluator = TaskId("evaluator", 0)
    assert told(
        lost(WORKER_1, WORKER_0, 9),
        lost(CHIEF, PS, 11),
        lost(evaluator, PS, 12),
        waits={CHIEF: {PS}, evaluator: {PS}, WORKER_1: {WORKER_0}},
    ) == ["peer-gone at ps:0: chief:0 evaluator:0", "peer-gone at worker:0: worker:1"]


def test_two_who_blame_each_other_are_one_finding() -> None:
    assert told(
        lost(WORKER_0, WORKER_1, 9),
        lost(WORKER_1, WORKER_0, 10),
        waits={WORKER_0: {WORKER_1}, WORKER_1: {WORKER_0}},
    ) == ["peer-gone at worker:1: worker:0"]


def test_a_complaint_long_before_any_failure_has_another_reason() -> None:
    root = finding("killed", WORKER_1, 30)
    assert told(root, lost(CHIEF, PS, 10), waits={CHIEF: {PS}}) == [
        "killed at worker:1: ",
        "peer-gone at ps:0: chief:0",
    ]

"""What looks from one place, or from two, prove about the paths of a cluster."""

from typing import Any

import pytest

from holdfast.diagnose import diagnose
from holdfast.model.cluster import TaskId
from holdfast.model.evidence import Evidence
from holdfast.model.facts import (
    Attached,
    AttemptStarted,
    Fact,
    LogLine,
    PathMeasured,
    PathProbed,
    PeersListed,
    ProcessSeen,
    SocketsSeen,
    SpecRead,
    StartBlocked,
    TaskExited,
    TaskStarted,
)

CHIEF, PS, A, B, C = (
    TaskId.parse(name) for name in ("chief:0", "ps:0", "worker:0", "worker:1", "worker:2")
)
BEGAN = AttemptStarted(at_s=0, host="h", began_unix_s=1.0, tasks=(), holdfast="0")


def look(target: TaskId, outcome: str, at_s: float = 1.0, **more: Any) -> PathProbed:
    name = str(target) if outcome == "answered" else ""
    more = {"host": "h", "address": f"10.0.0.{target.index + 1}:2222", "name": name, **more}
    return PathProbed(at_s=at_s, outcome=outcome, target=target, **more)


def line(task: TaskId, text: str, at_s: float = 5.0) -> LogLine:
    return LogLine(at_s=at_s, host="h", task=task, text=text)


def blind(task: TaskId, at_s: float = 2, *, answered: bool = False) -> PeersListed:
    return PeersListed(at_s=at_s, host="h", task=task, address="a:1", answered=answered)


def blocked(missing: str, *waiting: str) -> StartBlocked:
    return StartBlocked(
        at_s=120, host="h", deadline_s=120, missing=(missing,), waiting=waiting or ("worker:0",)
    )


def found(*facts: Fact) -> list[tuple[str, str, str]]:
    diagnosis = diagnose(Evidence(facts))
    assert not diagnosis.broken
    return [
        (str(finding.severity), finding.name, str(finding.proof.culprit))
        for finding in diagnosis.findings
    ]


def says(*facts: Fact) -> str:
    return diagnose(Evidence(facts)).findings[0].proof.says


def test_everybody_refused_is_a_cluster_that_has_not_started() -> None:
    assert found(look(A, "refused"), look(B, "refused")) == []


def test_refused_among_those_who_answer_is_a_warning() -> None:
    facts = (look(A, "answered"), look(B, "refused"))
    assert found(*facts) == [("warning", "refused", "worker:1")]


def test_refused_and_awaited_is_an_error() -> None:
    facts = (look(A, "answered"), look(B, "refused"), blind(A))
    assert found(*facts) == [("error", "never-started", "worker:1")]
    echoes = diagnose(Evidence(facts)).findings[0].echoes
    assert [str(echo.task) for echo in echoes] == ["worker:0"]


ATTACHED = Attached(at_s=0, host="h")


def working(task: TaskId, *cpu_s: float) -> tuple[ProcessSeen, ...]:
    return tuple(
        ProcessSeen(
            at_s=at_s, host="h", task=task, pid=7, state="S", cpu_s=cpu, loaded_tensorflow=True
        )
        for at_s, cpu in enumerate(cpu_s)
    )


def test_asked_about_now_those_who_are_there_wait_for_who_is_not() -> None:
    facts = (ATTACHED, look(A, "answered"), look(B, "refused"), look(PS, "answered", address="p:1"))
    assert found(*facts) == [("error", "never-started", "worker:1")]
    idle = working(A, 1.0, 1.001)
    assert found(*facts, *idle) == [("error", "never-started", "worker:1")]
    assert found(*facts, *working(A, 1.0)) == [("error", "never-started", "worker:1")]
    busy = working(A, 1.0, 1.5)
    assert found(*facts, *busy) == [("warning", "refused", "worker:1")]


def test_whoever_answered_before_has_gone() -> None:
    facts = (look(A, "answered"), look(B, "answered", 1), look(B, "refused", 9))
    assert found(*facts) == [("warning", "refused", "worker:1")]
    assert found(*facts, blind(A)) == [("error", "refused", "worker:1")]
    assert "has ended" in says(*facts)


def test_in_a_run_who_has_not_opened_its_port_is_told_with_its_pid() -> None:
    started = TaskStarted(at_s=0.1, host="h", task=B, pid=77)
    facts = (BEGAN, started, look(A, "answered"), look(B, "refused"), blocked("worker:1"))
    assert found(*facts) == [("error", "never-started", "worker:1")]
    assert "worker:1 runs (pid 77) but has not opened its port" in says(*facts)


def test_whoever_ended_is_told_by_how_it_ended() -> None:
    exited = TaskExited(at_s=2, host="h", task=B, exit_code=0)
    facts = (look(A, "answered"), look(B, "refused"), exited)
    assert found(*facts) == []


def test_a_task_elsewhere_is_at_a_wrong_port() -> None:
    facts = (look(A, "answered"), look(B, "refused"), look(B, "answered", 2, address="10.0.0.2:9"))
    assert found(*facts) == [("error", "wrong-port", "worker:1")]
    assert "but the definition looks for it at 10.0.0.2:2222" in says(*facts)
    assert "but worker:0 looks for it" in says(*facts, blind(A))
    assert "but worker:0 and ps:0 look for it" in says(
        *facts, look(PS, "answered", address="p:1"), blind(A), blind(PS)
    )


def test_at_the_deadline_a_task_that_listens_elsewhere_is_at_a_wrong_port() -> None:
    sockets = SocketsSeen(at_s=9, host="h", task=B, listening=(9,))
    facts = (BEGAN, look(A, "answered"), look(B, "refused"), sockets)
    assert found(*facts) == []
    assert found(*facts, blocked("worker:1")) == [("error", "wrong-port", "worker:1")]
    right = SocketsSeen(at_s=9, host="h", task=B, listening=(9, 2222))
    nobody = SocketsSeen(at_s=9, host="h", task=B)
    for other in (right, nobody):
        told = found(BEGAN, look(A, "answered"), look(B, "refused"), other, blocked("worker:1"))
        assert told == [("error", "never-started", "worker:1")]


REFUSED = (
    "failed to connect to all addresses; last error: UNKNOWN: ipv4:10.0.0.2:{port}: Failed to"
    " connect to remote host: Connection refused The remote target /job:worker/replica:0/task:1"
)


def test_a_task_that_is_refused_at_another_port_has_the_wrong_one() -> None:
    facts = (BEGAN, look(A, "answered"), look(B, "answered"), line(C, REFUSED.format(port=9)))
    text = facts[-1].text.replace("The remote", "Additional GRPC error information from remote")
    told = found(*facts[:-1], line(C, text))
    assert told == [("error", "wrong-port", "worker:2")]


@pytest.mark.parametrize(
    "speaker", [line(B, REFUSED.format(port=9)), line(C, "ipv4:1.2.3.4:9: Connection refused")]
)
def test_words_that_name_nobody_else_prove_no_wrong_port(speaker: LogLine) -> None:
    assert found(BEGAN, look(A, "answered"), look(B, "answered"), speaker) == []


def remote(port: int) -> str:
    return REFUSED.format(port=port).replace("The remote", "information from remote")


def test_a_task_that_never_came_up_has_no_port_to_be_wrong_about() -> None:
    assert found(BEGAN, look(A, "answered"), look(B, "refused"), line(C, remote(9))) == []


def test_refused_to_one_and_answering_us_is_a_firewall() -> None:
    facts = (BEGAN, look(A, "answered"), look(B, "answered", 6), line(C, remote(2222)))
    assert found(*facts) == [("error", "refused", "worker:1")]
    gone = TaskExited(at_s=7, host="h", task=B, exit_code=0)
    assert found(*facts, gone) == []


def test_refused_from_one_host_and_not_from_another_is_a_firewall() -> None:
    facts = (look(B, "answered"), look(B, "refused", host="g"), look(A, "answered"))
    assert found(*facts) == [("error", "refused", "worker:1")]
    later = (look(B, "answered"), look(B, "refused", 90, host="g"))
    assert ("error", "refused", "worker:1") not in found(*later)


def test_another_task_answers() -> None:
    facts = (look(A, "answered"), look(B, "answered", name="worker:0"))
    assert found(*facts) == [("error", "wrong-task-answers", "worker:1")]


def test_two_are_swapped() -> None:
    facts = (look(PS, "answered", name="worker:0"), look(A, "answered", name="ps:0", address="a:2"))
    assert found(*facts) == [("error", "wrong-task-answers", "ps:0")]
    spec = SpecRead(at_s=0, host="h", task=CHIEF, source="f", cluster={}, role="chief", index="0")
    assert ("error", "wrong-task-answers", "chief:0") in found(*facts, spec)
    other = SpecRead(at_s=0, host="h", task=PS, source="g", cluster={}, role="ps", index="0")
    assert ("error", "wrong-task-answers", "ps:0") in found(*facts, spec, other)


@pytest.mark.parametrize(
    ("outcome", "cause"),
    [
        ("not-grpc", "not-tensorflow"),
        ("not-tensorflow", "not-tensorflow"),
        ("reset", "connection-reset"),
        ("unresolved", "name-not-resolved"),
        ("filtered", "filtered"),
        ("unreachable", "filtered"),
        ("stalled", "stalled-at-start"),
    ],
)
def test_every_outcome_has_its_cause(outcome: str, cause: str) -> None:
    for words in ("", "some words of the error"):
        facts = (look(A, "answered"), look(B, outcome, says=words))
        assert found(*facts) == [("error", cause, "worker:1")]
    assert found(BEGAN, look(A, "answered"), look(B, outcome)) == []


def test_a_host_that_is_there_has_a_firewall() -> None:
    other = look(C, "refused", address="10.0.0.2:9")
    assert "the host is there" in says(look(A, "answered"), look(B, "filtered"), other)


def test_no_answer_here_and_an_answer_there_is_a_partition() -> None:
    cut = look(B, "filtered", host="g", task=A)
    facts = (look(A, "answered"), look(B, "answered"), cut)
    assert found(*facts) == [("error", "partition", "worker:1")]
    assert "the other way" not in says(*facts)
    back = look(A, "answered", host="i", task=B)
    assert "reaches the other way" in says(*facts, back)


def test_records_of_two_hosts_show_a_one_way_path() -> None:
    facts = (
        look(B, "filtered", host="10.0.0.1"),
        look(A, "answered", host="10.0.0.2"),
        look(B, "answered", host="10.0.0.2"),
    )
    assert found(*facts) == [("error", "partition", "worker:1")]
    assert "reaches the other way" in says(*facts)


def trying(at_s: float, *addresses: str) -> SocketsSeen:
    return SocketsSeen(at_s=at_s, host="h", task=A, trying=addresses)


def test_a_connection_that_a_task_tries_in_vain_is_a_partition() -> None:
    facts = (look(A, "answered"), look(B, "answered"), trying(1), trying(2, "10.0.0.2:2222"))
    assert found(*facts) == []
    later = (*facts, trying(6, "10.0.0.2:2222", "x:1"))
    assert found(*later) == [("error", "partition", "worker:1")]


def test_a_start_that_failed_soon_after_a_vain_try_was_cut() -> None:
    facts = (BEGAN, look(A, "answered"), look(B, "answered"), trying(1, "10.0.0.2:2222"))
    later = (*facts, trying(9, "10.0.0.2:2222"), trying(10))
    assert found(*later) == []  # it healed
    failed = TaskExited(at_s=12, host="h", task=A, exit_code=1)
    assert ("error", "partition", "worker:1") in found(*later, failed)


def test_whoever_looks_elsewhere_for_its_peers_is_not_cut_off() -> None:
    facts = (look(A, "answered"), look(B, "answered"), blind(A), blind(B, answered=True))
    own = SpecRead(
        at_s=0, host="h", task=A, source="pid 7", pid=7, cluster={"worker": {"1": "10.0.0.2:9"}}
    )
    assert ("error", "partition", "worker:0") not in found(*facts, own)


def test_a_chief_that_tries_in_vain_is_not_the_one_that_stalls() -> None:
    tries = [
        SocketsSeen(at_s=at_s, host="h", task=CHIEF, trying=("10.0.0.2:2222",)) for at_s in (1, 5)
    ]
    facts = (look(CHIEF, "stalled", address="c:1"), look(B, "answered"), *tries)
    assert found(*facts) == [("error", "partition", "worker:1")]


def test_whoever_cannot_see_a_peer_that_we_see_is_cut_off() -> None:
    facts = (look(A, "answered"), look(B, "answered"))
    one = (*facts, blind(A), blind(A, 7), blind(B, answered=True))
    assert found(*one) == [("error", "partition", "worker:0")]
    both = (*facts, blind(A), blind(A, 7), blind(B), blind(B, 7))
    whole = SpecRead(at_s=0, host="h", source="f", cluster={}, role="worker", index="0")
    assert ("error", "partition", "None") in found(*both, whole)
    assert found(*both) == []  # there may be others, for whom both wait
    assert found(*facts, blind(A), blind(A, 7)) == []  # worker:1 was not asked
    nobody = PeersListed(at_s=2, host="h", address="a:1", answered=False)
    assert found(*facts, blind(A, answered=True), blind(B, answered=True), nobody) == []


def test_one_late_answer_cuts_nobody_off() -> None:
    facts = (look(A, "answered"), look(B, "answered"), blind(B, answered=True))
    assert found(*facts, blind(A)) == []
    assert found(*facts, blind(A), blind(A, 7, answered=True)) == []


def test_silence_over_a_slow_path_is_only_likely() -> None:
    slow = (look(A, "answered", took_s=1.0), look(B, "answered"), blind(B, answered=True))
    silent = (blind(A), blind(A, 7))
    assert found(*slow, *silent) == [("warning", "partition", "worker:0")]
    again = look(A, "answered", 7, took_s=0.01)
    assert found(*slow, *silent, again) == [("error", "partition", "worker:0")]


@pytest.mark.parametrize("outcome", ["filtered", "not-grpc"])
def test_one_look_is_likely_and_two_are_high(outcome: str) -> None:
    once = (look(A, "answered"), look(B, outcome))
    assert diagnose(Evidence(once)).findings[0].proof.confidence == "likely"
    twice = (*once, look(B, outcome, 4))
    assert diagnose(Evidence(twice)).findings[0].proof.confidence == "high"


@pytest.mark.parametrize("state", ["T", "t", "D"])
def test_a_stopped_process_is_certain(state: str) -> None:
    seen = ProcessSeen(at_s=2, host="h", task=B, pid=9, state=state)
    for outcome in ("stalled", "refused"):
        told = diagnose(Evidence([look(A, "answered"), look(B, outcome), seen])).findings
        assert [(one.name, one.proof.confidence) for one in told if one.severity == "error"] == [
            ("stalled-at-start", "certain")
        ]


def test_a_process_that_runs_and_does_not_answer() -> None:
    seen = ProcessSeen(at_s=2, host="h", task=B, pid=9, state="S")
    facts = (look(A, "answered"), look(B, "stalled", 1), look(B, "stalled", 3), seen)
    first = diagnose(Evidence(facts)).findings[0]
    assert (first.name, first.proof.confidence) == ("stalled-at-start", "high")
    assert "kill -CONT 9" in first.proof.do[0]
    assert "cannot reach one of its cluster" in says(look(A, "answered"), look(CHIEF, "stalled"))


def test_a_new_incarnation_is_a_restart() -> None:
    facts = (look(A, "answered", 1, incarnation=1), look(A, "answered", 9, incarnation=2))
    assert found(*facts) == [("warning", "restarted", "worker:0")]
    assert found(facts[0], look(A, "answered", 9, incarnation=1)) == []


NEW = "/job:worker/replica:0/task:1 unexpectedly tried to connect with a different incarnation."


def test_a_leader_that_tells_of_a_restart_is_believed_when_somebody_failed() -> None:
    exited = TaskExited(at_s=9, host="h", task=A, exit_code=1)
    told = found(BEGAN, line(A, NEW), exited)
    assert ("error", "restarted", "worker:1") in told
    assert found(BEGAN, line(A, NEW)) == []
    assert ("error", "restarted", "worker:1") not in found(BEGAN, line(B, NEW), exited)


def measured(**more: Any) -> PathMeasured:
    usual: dict[str, Any] = {"tries": 40, "lost": 0, "p50_s": 0.001, "p99_s": 0.002}
    return PathMeasured(at_s=1, host="h", address="b:1", **{**usual, **more})


@pytest.mark.parametrize(
    ("fact", "causes"),
    [
        (measured(), []),
        (measured(lost=40, p50_s=9.0), []),  # nobody is there: another cause
        (measured(p50_s=0.2), [("warning", "slow-path", "None")]),
        (measured(lost=1, target=B), [("warning", "lossy-path", "worker:1")]),
        (measured(lost=5, target=B), [("warning", "lossy-path", "worker:1")]),
        (measured(tries=100, lost=1), []),
    ],
)
def test_paths_that_are_slow_or_lose(fact: Fact, causes: list[tuple[str, str, str]]) -> None:
    assert found(fact) == causes


def resolving(task: TaskId, text: str) -> tuple[Fact, ...]:
    exited = TaskExited(at_s=9, host="h", task=task, exit_code=1)
    return (BEGAN, line(task, text), exited)


TARGET = " remote target /job:worker/replica:0/task:1"


def test_a_name_that_a_task_could_not_resolve() -> None:
    known = resolving(A, "UNAVAILABLE: errors resolving gpu-9.invalid:2222: [...]" + TARGET)
    assert ("error", "name-not-resolved", "worker:1") in found(*known)
    own = resolving(B, "Domain name not found" + TARGET)
    assert ("error", "name-not-resolved", "worker:1") in found(*own)
    twice = (*known, line(A, "Name or service not known" + TARGET))
    assert len([one for one in found(*twice) if one[1] == "name-not-resolved"]) == 1
    whose = resolving(A, "Name or service not known")
    assert not [one for one in found(*whose) if one[1] == "name-not-resolved"]


def test_in_a_run_a_name_that_stays_unknown_is_told_early() -> None:
    facts = (BEGAN, look(B, "unresolved", 1), look(B, "unresolved", 1, task=A))
    assert found(*facts) == []
    later = (*facts, look(B, "unresolved", 6), look(B, "unresolved", 6, task=A))
    assert found(*later) == [("error", "name-not-resolved", "worker:1")]

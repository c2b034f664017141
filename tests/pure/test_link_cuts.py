"""What the links of a job that trains prove about the paths between its tasks."""

from typing import Any

import pytest

from holdfast.diagnose import diagnose
from holdfast.model.cluster import TaskId
from holdfast.model.evidence import Evidence
from holdfast.model.facts import (
    AttemptStarted,
    Fact,
    LogLine,
    PathProbed,
    ProcessSeen,
    StopAsked,
    TaskExited,
    TaskStarted,
    TimePassed,
)
from holdfast.model.link_waits import link_waits
from holdfast.model.lost_hosts import lost_hosts
from holdfast.model.watch_facts import HostSampled, LinkSeen, TaskSampled

CHIEF, PS, A, B, C = (
    TaskId.parse(name) for name in ("chief:0", "ps:0", "worker:0", "worker:1", "worker:2")
)
BEGAN = AttemptStarted(
    at_s=0, host="h", began_unix_s=1.0, tasks=("worker:0", "worker:1", "worker:2"), holdfast="0"
)


def link(task: TaskId | None, peer: TaskId, at_s: float = 30.0, **more: Any) -> LinkSeen:
    usual: dict[str, Any] = {
        "host": "h",
        "address": f"10.0.0.{peer.index}:2222",
        "send_bytes": 200,
        "retransmits": 4,
        "lasting_s": 3.0,
    }
    return LinkSeen(at_s=at_s, task=task, peer=peer, **{**usual, **more})


def flows(task: TaskId, peer: TaskId, at_s: float) -> LinkSeen:
    return link(task, peer, at_s, send_bytes=0, retransmits=0, lasting_s=0.0)


def starved(task: TaskId, at_s: float) -> TaskSampled:
    given: dict[str, Any] = {"pid": 7, "state": "R", "cpu_share": 0.1, "over_s": 10.0}
    return TaskSampled(at_s=at_s, host="h", task=task, starved_share=0.3, **given)


def found(*facts: Fact) -> list[tuple[str, str]]:
    diagnosis = diagnose(Evidence([BEGAN, *facts]))
    assert not diagnosis.broken
    return [(finding.name, str(finding.proof.culprit)) for finding in diagnosis.findings]


def says(*facts: Fact) -> str:
    return diagnose(Evidence([BEGAN, *facts])).findings[0].proof.says


@pytest.mark.parametrize(
    ("again", "lasting_s", "told"),
    [(2, 30.0, []), (3, 2.0, []), (3, 3.0, ["worker:1"]), (4, 1.9, ["worker:1"]), (4, 1.0, [])],
)
def test_data_that_is_sent_again_in_vain_is_a_cut(
    again: int, lasting_s: float, told: list[str]
) -> None:
    cut = link(A, B, retransmits=again, lasting_s=lasting_s)
    assert found(cut) == [("partition", who) for who in told]


def test_want_of_a_core_that_was_known_makes_it_unsure_and_a_later_measure_does_not_undo_it() -> (
    None
):
    """Of a cut the last word may come just before the job is stopped."""
    cut = link(A, B, retransmits=4, lasting_s=2.4)
    assert found(starved(B, 29.0), cut) == []
    assert found(cut, starved(B, 31.0)) == [("partition", "worker:1")]


def test_both_of_a_pair_are_named_and_which_way_it_is() -> None:
    one_way = says(link(B, C))
    assert one_way.startswith("the path between worker:2 and worker:1 is cut, and both live: 200")
    assert "other way" not in one_way
    assert "nor are any the other way" in says(link(B, C), link(C, B))


def test_who_is_cut_off_from_several_is_the_one() -> None:
    cut = (link(A, B), link(C, B), link(B, C))
    assert found(*cut) == [("partition", "worker:1")]
    assert says(*cut).startswith("worker:1 is cut off from worker:0 and worker:2, and all of them")


def test_who_is_the_one_is_known_before_every_link_is_sure() -> None:
    early = link(A, C, retransmits=2, lasting_s=2.0)
    assert found(link(A, B), early) == [("partition", "worker:0")]
    assert found(early) == []


def test_of_a_pair_the_one_is_named_that_others_need_less() -> None:
    assert found(link(PS, CHIEF), link(CHIEF, PS)) == [("partition", "ps:0")]
    assert found(link(A, PS), link(PS, A)) == [("partition", "worker:0")]


def test_two_pairs_that_share_nobody_are_two_cuts() -> None:
    assert sorted(found(link(A, B), link(PS, C))) == [
        ("partition", "worker:1"),
        ("partition", "worker:2"),
    ]


def test_a_path_that_loses_packets_takes_more_to_be_called_cut() -> None:
    lossy = {"recovered": 3}
    assert found(link(A, B, retransmits=6, lasting_s=12.0, **lossy)) == []
    long = link(A, B, retransmits=8, lasting_s=31.0, **lossy)
    assert found(long) == [("partition", "worker:1")]
    twice = (link(A, B, retransmits=6, lasting_s=12.0, **lossy), link(B, A, **lossy))
    assert found(*twice) == [("partition", "worker:1")]


def test_the_first_sure_look_counts_and_the_longest_is_told() -> None:
    rows = (
        link(A, B, 30, retransmits=2, lasting_s=2.0),
        link(A, B, 31),
        link(A, B, 35, retransmits=5, lasting_s=8.0),
        link(A, B, 34, address="10.0.0.1:5555", retransmits=2, lasting_s=2.0),
    )
    assert found(*rows) == [("partition", "worker:1")]
    assert "sent again 5 times in 8 s" in says(*rows)
    assert found(*reversed(rows)) == [("partition", "worker:1")]


@pytest.mark.parametrize(
    "fact",
    [
        flows(A, B, 34),
        TimePassed(at_s=90, host="h"),  # told no more
        TaskExited(at_s=29, host="h", task=B, exit_code=0),
        ProcessSeen(at_s=29, host="h", task=B, pid=7, state="T"),
        ProcessSeen(at_s=29, host="h", task=B, pid=7, state="S", frozen="/paused"),
        StopAsked(at_s=29, host="h", by="somebody", signal=2),
    ],
)
def test_a_cut_that_is_over_or_has_another_reason_accuses_nobody(fact: Fact) -> None:
    assert ("partition", "worker:1") not in found(link(A, B), fact)


def test_a_stop_that_is_over_explains_nothing() -> None:
    seen = [
        ProcessSeen(at_s=9, host="h", task=B, pid=7, state="T"),
        ProcessSeen(at_s=12, host="h", task=B, pid=7, state="S"),
        ProcessSeen(at_s=33, host="h", task=B, pid=7, state="T"),
    ]
    assert ("partition", "worker:1") in found(link(A, B), *seen)


def test_a_cut_over_which_somebody_failed_stays_its_cause() -> None:
    failed = TaskExited(at_s=40, host="h", task=A, exit_code=1)
    assert found(link(A, B), failed)[0] == ("partition", "worker:1")
    assert found(link(A, B), flows(A, B, 36), failed)[0] == ("partition", "worker:1")
    later = TaskExited(at_s=80, host="h", task=A, exit_code=1)
    assert ("partition", "worker:1") not in found(link(A, B), flows(A, B, 36), later)


def test_a_cut_that_comes_again_is_a_new_one() -> None:
    again = (link(A, B, 10), flows(A, B, 12), link(A, B, 60))
    assert found(*again) == [("partition", "worker:1")]
    assert found(*again, flows(A, B, 66)) == []
    assert found(link(A, B, 10), link(A, B, 60)) == [("partition", "worker:1")]


def test_a_link_of_nobody_accuses_nobody() -> None:
    assert found(link(None, B)) == []
    assert list(link_waits(Evidence([link(None, B)]))) == []


def started(task: TaskId, host: str) -> TaskStarted:
    return TaskStarted(at_s=0.1, host="h", task=task, pid=7, address=f"{host}:{2222 + task.index}")


ON_HOSTS = (started(A, "10.0.0.1"), started(B, "10.0.0.2"), started(C, "10.0.0.2"))


def test_a_host_of_which_every_task_is_cut_off_is_lost() -> None:
    cut = (*ON_HOSTS, link(A, B), link(C, A))
    assert found(*cut) == [("host-lost", "worker:1")]
    assert says(*cut).startswith(
        "the host 10.0.0.2 is lost, with worker:1 and worker:2: none of its tasks acknowledges"
        " what worker:0 send"
    )


@pytest.mark.parametrize(
    "more",
    [
        (link(A, B),),  # one of its tasks only
        (link(A, B), link(A, C), started(PS, "10.0.0.3")),  # another host reaches it
        (link(A, B), link(A, C), started(B, "127.0.0.1")),
        (link(A, B), link(A, C), started(B, "")),
        (link(A, B), link(A, C), started(C, "10.0.0.3")),  # two hosts with one task each
        (link(B, C),),  # within it
    ],
)
def test_a_host_of_which_something_may_answer_is_not_lost(more: tuple[Fact, ...]) -> None:
    told = found(*ON_HOSTS, *more)
    assert {name for name, _ in told} == {"partition"}


def test_a_host_is_not_lost_on_suspicion() -> None:
    weak: dict[str, Any] = {"retransmits": 2, "lasting_s": 2.0}
    assert found(*ON_HOSTS, link(A, B, **weak), link(A, C, **weak)) == []
    assert lost_hosts(Evidence(ON_HOSTS), []) == {}


def look(target: TaskId, outcome: str, at_s: float, host: str, **more: Any) -> PathProbed:
    name = str(target) if outcome == "answered" else ""
    address = f"{host}:{2222 + target.index}"
    return PathProbed(
        at_s=at_s, host="h", outcome=outcome, target=target, name=name, address=address, **more
    )


def attached(*facts: Fact) -> list[tuple[str, str, str]]:
    diagnosis = diagnose(Evidence(facts))
    assert not diagnosis.broken
    return [
        (finding.name, str(finding.proof.culprit), str(finding.proof.confidence))
        for finding in diagnosis.findings
    ]


def seen(target: TaskId, outcome: str, host: str, **more: Any) -> tuple[PathProbed, ...]:
    """Ready at first, and so twice since."""
    ready = look(target, "answered", 1, host)
    return (ready, *(look(target, outcome, at_s, host, **more) for at_s in (9, 12)))


def test_a_host_whose_tasks_answered_before_and_are_silent_now_is_lost() -> None:
    facts = (*seen(A, "answered", "x"), *seen(B, "filtered", "y"), *seen(C, "filtered", "y"))
    assert ("host-lost", "worker:1", "high") in attached(*facts)
    assert ("filtered", "worker:1", "high") not in attached(*facts)


def test_a_host_that_is_lost_by_its_links_is_told_once() -> None:
    looks = (*seen(A, "answered", "10.0.0.1"), *seen(B, "filtered", "10.0.0.2"))
    facts = (*ON_HOSTS, *looks, *seen(C, "filtered", "10.0.0.2"), link(A, B, 12), link(A, C, 12))
    told = [name for name, _, _ in attached(*facts)]
    assert told == ["host-lost"]


def test_a_single_task_is_a_lost_host_only_if_the_network_says_so() -> None:
    others = seen(A, "answered", "x")
    gone = seen(B, "unreachable", "y", says="No route to host")
    assert attached(*others, *gone) == [("host-lost", "worker:1", "likely")]
    silent = seen(B, "filtered", "y")
    assert attached(*others, *silent) == [("filtered", "worker:1", "high")]
    odd = seen(B, "unreachable", "y", says="Network is unreachable")
    assert attached(*others, *odd) == [("filtered", "worker:1", "high")]


def test_a_host_that_never_answered_or_that_nobody_misses_is_not_lost() -> None:
    others = seen(A, "answered", "x")
    once = (look(B, "answered", 1, "y"), look(B, "unreachable", 9, "y", says="No route to host"))
    assert ("host-lost", "worker:1", "likely") not in attached(*others, *once)
    never = seen(B, "unreachable", "y", says="No route to host")[1:]
    assert ("host-lost", "worker:1", "likely") not in attached(*others, *never)
    nobody = seen(B, "unreachable", "y", says="No route to host")
    assert ("host-lost", "worker:1", "likely") not in attached(*nobody)


def test_who_sent_waits_for_who_does_not_acknowledge_or_read() -> None:
    unread = link(C, A, send_bytes=0, retransmits=0, recv_bytes=9)
    waits = {(wait.waiter, wait.awaited) for wait in link_waits(Evidence([link(A, B), unread]))}
    assert waits == {(A, B), (A, C)}
    assert list(link_waits(Evidence([link(A, B), flows(A, B, 34)]))) == []
    assert list(link_waits(Evidence([link(A, B), TimePassed(at_s=90, host="h")]))) == []
    assert list(link_waits(Evidence([]))) == []
    asked = StopAsked(at_s=20, host="h", by="somebody", signal=2)
    assert list(link_waits(Evidence([asked, link(A, B)]))) == []


def sampled(at_s: float, sent: int, again: int, host: str = "h") -> HostSampled:
    return HostSampled(
        at_s=at_s,
        host=host,
        over_s=10,
        cpus=2,
        busy_share=0.5,
        memory_bytes=1 << 33,
        memory_free_bytes=1 << 32,
        segments_sent=sent,
        segments_again=again,
    )


def test_a_host_that_sends_much_again_loses_packets() -> None:
    assert found(sampled(10, 500, 25), sampled(20, 500, 25)) == [("packet-loss", "None")]
    assert "packets are lost on h: 5.0% of 1000 TCP segments in 20 s" in says(
        sampled(10, 500, 25), sampled(20, 500, 25), sampled(30, 500, 0)
    )


@pytest.mark.parametrize(
    "samples",
    [
        (sampled(10, 500, 25),),  # ten seconds
        (sampled(10, 50, 25), sampled(20, 50, 25)),  # few segments
        (sampled(10, 500, 4), sampled(20, 500, 4)),
        (sampled(10, 500, 25), sampled(20, 500, 25, "g")),
        (sampled(10, 500, 25), sampled(20, 500, 25), link(A, B)),  # a cut
    ],
)
def test_few_losses_are_no_reason_to_warn(samples: tuple[Fact, ...]) -> None:
    assert ("packet-loss", "None") not in found(*samples)


def test_the_task_that_all_losing_links_share_is_named() -> None:
    lossy = {"recovered_here": 2, "send_bytes": 0, "retransmits": 0, "lasting_s": 0.0}
    samples = (sampled(10, 500, 25), sampled(20, 500, 25))
    links = (link(A, B, 12, **lossy), link(C, B, 13, **lossy))
    assert found(*samples, *links) == [("packet-loss", "worker:1")]
    assert found(*samples, links[0]) == [("packet-loss", "None")]
    apart = (links[0], link(C, PS, 13, **lossy))
    assert found(*samples, *apart) == [("packet-loss", "None")]


JOINED = "/job:worker/replica:0/task:1 has connected to coordination service. Incarnation: {}"


def line(text: str, at_s: float, task: TaskId = A) -> LogLine:
    return LogLine(at_s=at_s, host="h", task=task, text=text)


def test_who_joins_a_second_time_as_another_process_was_restarted() -> None:
    twice = (line(JOINED.format(7), 5), line(JOINED.format(8), 50))
    told = diagnose(Evidence([BEGAN, *twice])).findings
    assert [(one.name, one.severity) for one in told] == [("restarted", "warning")]
    own = tuple(line(one.text, one.at_s, B) for one in twice)
    assert found(*own) == [("restarted", "worker:1")]
    assert found(twice[0], line(JOINED.format(7), 50)) == []
    failed = TaskExited(at_s=60, host="h", task=A, exit_code=1)
    assert ("restarted", "worker:1") in found(*twice, failed)


PROBABLY = (
    'Your worker job ("/job:ps/replica:0/task:0") was probably restarted. Check your worker job'
    " for the reason why it was restarted."
)
MISMATCH = "Leader incarnation ID mismatch: the coordination leader has restarted."


@pytest.mark.parametrize(("text", "who"), [(PROBABLY, "ps:0"), (MISMATCH, "worker:0")])
def test_whom_others_call_restarted_is_believed_when_somebody_failed(text: str, who: str) -> None:
    failed = TaskExited(at_s=60, host="h", task=C, exit_code=1)
    assert ("restarted", who) in found(line(text, 50, C), failed)
    assert found(line(text, 50, C)) == []

"""When a parameter server is at its limit: the cores it is bound to, the network it fills."""

from typing import Any

import pytest

from holdfast.diagnose import catalogue
from holdfast.model.cluster import TaskId
from holdfast.model.evidence import Evidence
from holdfast.model.facts import Fact
from holdfast.model.watch_facts import HostSampled, LinksSampled, TaskSampled

PS, W0, W1 = TaskId("ps", 0), TaskId("worker", 0), TaskId("worker", 1)
MIB = 1 << 20


def told(*facts: Fact) -> list[str]:
    return [proof.says for proof in catalogue()["ps-overloaded"].detect(Evidence(facts))]


def uses(task: TaskId, cores: float, runs_on: str = "", at_s: float = 60.0) -> TaskSampled:
    given: dict[str, Any] = {"pid": 7, "state": "S", "over_s": 60.0, "cpu_share": cores}
    return TaskSampled(at_s=at_s, host="h", task=task, runs_on=runs_on, **given)


def bound(ps: float, runs_on: str, *, workers: float = 0.2, theirs: str = "") -> list[str]:
    return told(uses(PS, ps, runs_on), uses(W0, workers, theirs), uses(W1, workers, theirs))


def test_a_server_that_uses_all_it_is_bound_to_is_at_its_limit() -> None:
    waits = "ps:0 is at its limit, and worker:0 and worker:1 wait for it: it uses"
    assert bound(0.97, "0") == [f"{waits} 0.97 of the 1 that it may run on (core 0)"]
    assert bound(1.9, "2-3", theirs="0-1") == [
        f"{waits} 1.90 of the 2 that it may run on (cores 2-3)"
    ]


@pytest.mark.parametrize(
    "found",
    [
        pytest.param(bound(0.5, "0"), id="it has cores left"),
        pytest.param(bound(1.6, "0"), id="only its main thread is bound"),
        pytest.param(bound(0.97, ""), id="it may run anywhere"),
        pytest.param(bound(0.97, "0", theirs="0"), id="those that train have no other cores"),
        pytest.param(bound(0.97, "0", workers=0.9), id="nobody waits"),
        pytest.param(bound(0.97, "x"), id="no list of cores"),
    ],
)
def test_a_server_that_may_have_more_is_not(found: list[str]) -> None:
    assert found == []


def carries(
    at_s: float,
    share: float = 0.95,
    mib: float = 4.0,
    *,
    task: TaskId = PS,
    peer: TaskId = W0,
) -> LinksSampled:
    sent, name = mib * MIB, str(peer)
    return LinksSampled(
        at_s=at_s,
        host="h",
        task=task,
        over_s=10.0,
        sent_bytes_per_s={name: sent},
        received_bytes_per_s={name: 0.0},
        network_share={name: share},
    )


def host(again: int) -> HostSampled:
    given: dict[str, Any] = {
        "cpus": 2,
        "busy_share": 0.5,
        "memory_bytes": 9,
        "memory_free_bytes": 9,
    }
    return HostSampled(
        at_s=59.0, host="h", over_s=5.0, segments_sent=1000, segments_again=again, **given
    )


IDLE = (uses(PS, 0.1), uses(W0, 0.2), uses(W1, 0.2))
FULL = (carries(50.0), carries(60.0))


def test_a_network_that_is_always_waited_for_is_a_limit_in_either_direction() -> None:
    (out,) = told(*IDLE, *FULL, host(again=5))
    assert out == (
        "ps:0 is at its limit, and worker:0 and worker:1 wait for it: the network between it and"
        " worker:0 carries 4.0 MiB a second, and what is sent waits for nothing else 95% of the"
        " time"
    )
    into = [carries(at_s, task=worker, peer=PS) for at_s in (50.0, 60.0) for worker in (W0, W1)]
    (found,) = told(*IDLE, *into)
    assert "between it and worker:0 and worker:1 carries 8.0 MiB a second" in found


@pytest.mark.parametrize(
    "facts",
    [
        pytest.param((*IDLE, carries(60.0)), id="for ten seconds"),
        pytest.param((*IDLE, carries(50.0), carries(60.0, 0.5)), id="not all the time"),
        pytest.param((*IDLE, carries(50.0, mib=0.2), carries(60.0, mib=0.2)), id="a far network"),
        pytest.param((*IDLE, *FULL, host(again=50)), id="a bad network"),
        pytest.param((*IDLE, *FULL, carries(70.0, 0.1)), id="no longer"),
        pytest.param((uses(PS, 0.1), uses(W0, 0.9), uses(W1, 0.9), *FULL), id="nobody waits"),
        pytest.param(
            (*IDLE, carries(50.0, task=W0, peer=W1), carries(60.0, task=W0, peer=W1)),
            id="between others",
        ),
    ],
)
def test_a_network_that_is_not_the_servers_limit_is_not_told(facts: tuple[Fact, ...]) -> None:
    assert told(*facts) == []

"""Faulty start-ups of real clusters: who is missing, why, and nothing where all is well.

A selection; `python -m bench.startup` judges every fault in every workload by every way.
"""

import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from bench import scenario
from bench.cluster import Cluster, Spawn
from bench.fault import SILENT, Effect, Told, told
from bench.network import Network, available
from bench.startup import FAULTS, scenarios

pytestmark = pytest.mark.cluster
WHY_NO_HOSTS = available()
needs_hosts = pytest.mark.skipif(bool(WHY_NO_HOSTS), reason=WHY_NO_HOSTS)
START_DEADLINE_S = 12.0
SOON_S_MAX = 60.0
TRAINED_S_MAX = 90.0
ON_HOSTS = {"chief:0": "host-a", "ps:0": "host-b", "worker:0": "host-c"}
CHECKED = sorted({one.fault: one.workload for one in scenarios(by="check")}.items())
RUN = [
    ("worker-0-never-started", "mirrored"),
    ("ps-0-never-started", "session"),
    ("proxy-lower-case", "parameter_server"),
]
ATTACHED = [
    ("worker-1-never-started", "parameter_server"),
    ("stopped", "mirrored"),
    ("wrong-ps-port-in-one", "session"),
    ("healthy", "session"),
]


@pytest.mark.parametrize(("fault", "workload"), CHECKED)
def test_a_fault_in_the_definitions_is_found_before_the_start(
    tmp_path: Path, fault: str, workload: str
) -> None:
    must_fit(scenario.check(fault, workload, tmp_path), FAULTS[fault].told("check", workload))


@pytest.mark.parametrize(("fault", "workload"), RUN)
def test_who_starts_a_job_hears_who_is_missing_and_why(
    tmp_path: Path, fault: str, workload: str
) -> None:
    limit_s = None if fault == "late" else START_DEADLINE_S
    answer = scenario.run(fault, workload, tmp_path, deadline_s=limit_s)
    expected = FAULTS[fault].told("run", workload)
    must_fit(answer, expected)
    assert expected is not None
    effect = FAULTS[fault].effect[workload]
    # How soon is a matter of the machine: the bench judges that, on a quiet one.
    wrong = answer.complaint(expected, effect, "run", word_s_max=SOON_S_MAX)
    assert not wrong, answer.text


@pytest.mark.parametrize(("fault", "workload"), ATTACHED)
def test_who_looks_from_outside_sees_who_is_missing_and_why(
    tmp_path: Path, fault: str, workload: str
) -> None:
    must_fit(scenario.attach(fault, workload, tmp_path), FAULTS[fault].told("attach", workload))


@pytest.fixture
def net() -> Iterator[Network]:
    with Network(*ON_HOSTS.values()) as made:
        yield made


OnHosts = Callable[[], Cluster]


@pytest.fixture
def on_hosts(net: Network, tmp_path: Path) -> OnHosts:
    """A chief, a parameter server and a worker, each on a host of its own."""

    def spawn(task: str) -> Spawn:
        return partial(net.run_in, ON_HOSTS[task])

    def make() -> Cluster:
        return Cluster(
            "parameter_server",
            tmp_path,
            roles={"chief": 1, "ps": 1, "worker": 1},
            options=("--steps", "100000"),
            hosts={task: net.address(host) for task, host in ON_HOSTS.items()},
            spawn=spawn,
        )

    return make


@needs_hosts
def test_a_firewall_in_front_of_a_parameter_server(net: Network, on_hosts: OnHosts) -> None:
    cluster = on_hosts()
    net.filter_port("host-b", cluster.port("ps:0"))
    with cluster:
        servers_listen(cluster)
        must_fit(scenario.ask_attach(cluster), told("filtered", "ps:0"))
        assert cluster.effect() is Effect.BLOCKS


@needs_hosts
def test_a_path_that_is_open_one_way_only(net: Network, on_hosts: OnHosts) -> None:
    """From outside, all is well with everybody: only the two cannot hear each other."""
    net.cut_one_way("host-b", "host-a")
    with on_hosts() as cluster:
        servers_listen(cluster)
        answer = scenario.ask_attach(cluster)
        must_fit(answer, told("partition filtered", "ps:0", "chief:0", None))
        inside = scenario.ask_attach(cluster, partial(net.run_in, "host-a"))
        must_fit(inside, told("partition filtered", "ps:0", "chief:0", None))


@needs_hosts
def test_a_bad_line_is_no_reason_to_accuse_anybody(net: Network, on_hosts: OnHosts) -> None:
    net.slow("host-b", delay_s=0.1, loss=0.05)
    with on_hosts() as cluster:
        servers_listen(cluster)
        trains(cluster)
        answer = scenario.ask_attach(cluster)
        assert set(answer.errors) <= {"slow-path", "lossy-path"}, answer.text


@needs_hosts
def test_a_cut_that_heals_is_told_and_then_forgotten(net: Network, on_hosts: OnHosts) -> None:
    net.isolate("host-b")
    with on_hosts() as cluster:
        servers_listen(cluster)
        must_fit(scenario.ask_attach(cluster), told("filtered partition", "ps:0"))
        net.heal()
        trains(cluster)
        must_fit(scenario.ask_attach(cluster), SILENT)


def servers_listen(cluster: Cluster) -> None:
    missing = cluster.wait_listening(["ps:0", "worker:0"], scenario.LISTEN_S_MAX)
    assert not missing


def trains(cluster: Cluster) -> None:
    deadline_s = time.monotonic() + TRAINED_S_MAX
    while cluster.effect() is not Effect.TRAINS:
        assert time.monotonic() < deadline_s, cluster.log("chief:0")[-2000:]


def must_fit(answer: scenario.Answer, expected: Told | None) -> None:
    assert expected is not None
    assert answer.fits(expected), f"expected {expected}, got {answer}\n{answer.text[-3000:]}"

"""Every outcome of looking at an address, with real sockets on this host."""

import asyncio
import contextlib
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import grpc
import pytest

from holdfast.model.cluster import TaskId
from holdfast.model.facts import PathProbed
from holdfast.probes.paths import Place, look_at, look_nearby, measure_paths, probe_paths

WORKER = TaskId("worker", 1)
Look = Callable[..., PathProbed]


def clock() -> float:
    return 7.0


@contextlib.contextmanager
def stand_in(
    *, service: str = "tensorflow.WorkerService", host: str = "127.0.0.1"
) -> Iterator[int]:
    """A gRPC server that says of itself that it is worker:1."""
    name = b"/job:worker/replica:0/task:1/device:CPU:0"
    device = b"\n" + bytes([len(name)]) + name + b"\x20\x80\x80\x01" + b"1\x07" + bytes(7)
    answer = b"\n" + bytes([len(device)]) + device
    method = grpc.unary_unary_rpc_method_handler(lambda request, context: answer)
    server = grpc.server(ThreadPoolExecutor(2))
    server.add_generic_rpc_handlers(
        (grpc.method_handlers_generic_handler(service, {"GetStatus": method}),)
    )
    port = server.add_insecure_port(f"{host}:0")
    server.start()
    yield port
    server.stop(None).wait()


def test_a_server_that_answers_tells_its_name(look: Look) -> None:
    with stand_in() as port:
        fact = look(f"localhost:{port}")
    assert (fact.outcome, fact.name, fact.incarnation) == ("answered", "worker:1", 7)
    assert (fact.devices, fact.memory_bytes) == (("CPU:0",), 16384)
    assert "127.0.0.1" in fact.ips


def test_a_server_answers_over_ipv6(look: Look) -> None:
    with stand_in(host="[::1]") as port:
        fact = look(f"[::1]:{port}")
    assert (fact.outcome, fact.name, fact.ips) == ("answered", "worker:1", ("::1",))


def test_a_grpc_server_that_is_not_tensorflow(look: Look) -> None:
    with stand_in(service="helloworld.Greeter") as port:
        fact = look(f"127.0.0.1:{port}")
    assert fact.outcome == "not-tensorflow"
    assert "UNIMPLEMENTED" in fact.says


def test_a_closed_port_refuses(look: Look) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    assert look(f"127.0.0.1:{port}").outcome == "refused"


def test_a_listener_that_never_accepts_stalls(look: Look) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        fact = look(f"127.0.0.1:{listener.getsockname()[1]}")
    assert (fact.outcome, fact.says) == ("stalled", "connected, and no word in 0.6 s")


def test_a_full_backlog_is_silence(look: Look) -> None:
    """The kernel drops what it has no room for, so that it looks like a filter."""
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
        for _ in range(8):
            waiting = stack.enter_context(socket.socket())
            waiting.settimeout(0)
            waiting.connect_ex(listener.getsockname())
        fact = look(f"127.0.0.1:{listener.getsockname()[1]}")
    assert fact.outcome == "filtered"


@pytest.mark.skipif(os.geteuid() != 0, reason="a network that drops packets needs root")
def test_a_host_that_drops_everything_is_filtered() -> None:
    """In a network of its own, which ends with the process."""
    code = """
import subprocess
from holdfast.probes.paths import Place, measure_paths, probe_paths
for line in ("link set lo up", "link add dead type veth peer name sink", "link set sink up",
             "link set dead arp off", "address add 10.99.0.1/16 dev dead", "link set dead up"):
    subprocess.run(["ip", *line.split()], check=True)
places = [Place("10.99.1.1:2222"), Place("10.88.0.1:2222")]
for look in probe_paths(places, at_s=lambda: 0.0, host="host-a", connect_s=0.5):
    print(look.outcome, look.says)
(way,) = measure_paths(places[:1], at_s=lambda: 0.0, host="host-a")
print(way.tries, way.lost, way.p50_s)
"""
    command = ["unshare", "--net", sys.executable, "-c", code]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.stderr == ""
    assert ran.stdout.splitlines() == [
        "filtered no answer to a TCP connection in 0.5 s",
        "unreachable Network is unreachable",
        "3 3 0.0",
    ]


def test_a_name_without_meaning_is_unresolved(look: Look) -> None:
    fact = look("does-not-exist.invalid:2222")
    assert fact.outcome == "unresolved"
    assert fact.says


@pytest.mark.parametrize(
    "address", ["", "host-a", "host-a:", ":2222", "host-a:99999", "grpc://host-a:1", "::1:2222"]
)
def test_what_is_not_an_address_is_told_without_a_look(look: Look, address: str) -> None:
    assert look(address).outcome == "bad-address"


def test_looks_come_in_the_order_of_the_places_and_are_counted() -> None:
    counted: list[tuple[int, int]] = []
    with stand_in() as port:
        addresses = ["bad", f"127.0.0.1:{port}", "127.0.0.1:1", f"127.0.0.1:{port}"]
        facts = probe_paths(
            [Place(address, None) for address in addresses],
            at_s=clock,
            host="host-a",
            from_task=WORKER,
            seen=lambda done, of: counted.append((done, of)),
        )
    assert [fact.address for fact in facts] == ["bad", addresses[1], addresses[1], "127.0.0.1:1"]
    assert counted == [(1, 4), (2, 4), (3, 4), (4, 4)]
    assert {fact.task for fact in facts} == {WORKER}


def test_whoever_stops_listening_early_leaves_nothing_behind() -> None:
    async def first() -> PathProbed:
        looks = look_at([Place("127.0.0.1:1")] * 600, at_s=clock, host="host-a")
        async for fact in looks:
            await looks.aclose()  # type: ignore[attr-defined]
            return fact
        raise AssertionError

    assert asyncio.run(first()).outcome == "refused"


def test_nothing_to_look_at_is_no_fact() -> None:
    assert probe_paths([], at_s=clock, host="host-a") == []


def test_a_low_limit_on_open_files_slows_down_and_blinds_nobody() -> None:
    code = (
        "import resource, socket\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))\n"
        "from holdfast.probes.paths import Place, probe_paths\n"
        "facts = probe_paths([Place('127.0.0.1:1')] * 300, at_s=lambda: 0.0, host='a')\n"
        "print({fact.outcome.value for fact in facts}, len(facts))\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (ran.stdout, ran.stderr) == ("{'refused'} 300\n", "")


def test_a_task_is_found_on_a_port_nearby() -> None:
    with stand_in() as port:
        (fact,) = look_nearby(Place(f"127.0.0.1:{port - 3}", WORKER), at_s=clock, host="host-a")
    assert (fact.address, fact.name, fact.target) == (f"127.0.0.1:{port}", "worker:1", WORKER)
    assert look_nearby(Place("no address", WORKER), at_s=clock, host="host-a") == []


def test_a_path_is_measured_by_connecting_again_and_again() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        places = [
            Place(f"127.0.0.1:{listener.getsockname()[1]}", WORKER),
            Place("bad"),
            Place("127.0.0.1:1"),
        ]
        open_, refused = measure_paths(places, at_s=clock, host="host-a", tries=5)
    assert (open_.tries, open_.lost, open_.target) == (5, 0, WORKER)
    assert 0 < open_.p50_s <= open_.p99_s < 0.5
    assert (refused.tries, refused.lost, refused.bytes_per_s) == (5, 0, 0.0)

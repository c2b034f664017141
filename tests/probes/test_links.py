"""What stands in the queues of real connections: a reader that does not read, a cut peer."""

import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from holdfast.agent.watch_links import LinkLook
from holdfast.agent.watched import Watched
from holdfast.model.cluster import TaskId
from holdfast.model.facts import Fact, SocketsSeen
from holdfast.model.watch_facts import LinkSeen, LinksSampled
from holdfast.probes.links import SocketLook, is_open, segments_of

sys.path.insert(0, str(Path(__file__).parent.parent.parent))  # hosts come from bench/
from bench.network import Network, available

WHY_NOT = available()
A, B, C = (TaskId("worker", index) for index in range(3))
SEEN_S_MAX = 60.0
LOOKS = 200
CPU_SHARE_MAX = 0.003
# Answers whoever connects; sends its peers 200 bytes, waits for each answer, and again.
CHAT = """
import socket, sys, threading, time
port, peers = int(sys.argv[1]), sys.argv[2:]
server = socket.create_server(("::", port), family=socket.AF_INET6, dualstack_ipv6=True)
def answer(link):
    while heard := link.recv(65536):
        link.sendall(heard)
def serve():
    while True:
        threading.Thread(target=answer, args=(server.accept()[0],), daemon=True).start()
threading.Thread(target=serve, daemon=True).start()
print("listens", flush=True)
sys.stdin.readline()
links = [socket.create_connection((peer.rpartition(":")[0], int(peer.rpartition(":")[2])))
         for peer in peers]
for link in links:  # a connection belongs to nobody before it was accepted
    link.sendall(b"x")
    link.recv(1)
print("connected", flush=True)
def ask(link):
    while True:
        link.sendall(b"x" * 200)
        link.recv(4096)
        time.sleep(0.1)
for link in links:
    threading.Thread(target=ask, args=(link,), daemon=True).start()
threading.Event().wait()
"""


def rows_of(owners: Mapping[str, Sequence[int]], look: SocketLook, at_s: float) -> list[str]:
    found = look.look(owners, at_s)
    return [owner for rows in found.values() for owner, _ in rows]


def writable(end: socket.socket) -> bool:
    return bool(select.select([], [end], [], 0)[1])


def test_bytes_that_nobody_reads_are_counted_at_both_ends() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection(server.getsockname()) as writer,
        server.accept()[0] as reader,
    ):
        writer.settimeout(0)
        while writable(writer):
            writer.send(b"x" * 65_536)
        (rows,) = SocketLook().look({"we": (os.getpid(),)}, 0.0).values()
        ends = {row.local: row for _, row in rows if is_open(row)}
        ours, theirs = (ends[f"127.0.0.1:{end.getsockname()[1]}"] for end in (writer, reader))
        assert ours.send_bytes > 0
        assert theirs.recv_bytes > 0
        assert ours.remote == theirs.local


def test_a_table_is_not_read_again_before_there_is_a_reason() -> None:
    with socket.create_server(("127.0.0.1", 0)):
        look, owners = SocketLook(), {"we": (os.getpid(),)}
        assert rows_of(owners, look, 0.0)
        assert rows_of(owners, look, 60.0)
        assert look.look(owners, 60.5, wanted=()) == {}
        space = str(Path("/proc/self/ns/net").readlink())
        assert look.look(owners, 63.9, wanted={space})


def test_a_cut_that_is_about_to_be_known_is_looked_at_more_often(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A table that was dear to read rests for seconds, and a cut should be told within five."""
    clock = iter((0.0, 0.006))
    monkeypatch.setattr(time, "thread_time", lambda: next(clock))
    space = {str(Path("/proc/self/ns/net").readlink())}
    with socket.create_server(("127.0.0.1", 0)):
        look, owners = SocketLook(), {"we": (os.getpid(),)}
        assert look.look(owners, 0.0)
        assert look.look(owners, 0.4, hurried=space) == {}, "it costs nobody more than four times"
        assert look.look(owners, 1.0, wanted=space) == {}
        monkeypatch.undo()
        assert look.look(owners, 1.0, wanted=space, hurried=space)


def test_sockets_that_come_and_go_are_noticed() -> None:
    look, owners = SocketLook(), {"we": (os.getpid(),)}
    look.look(owners, 0.0)
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        (rows,) = look.look(owners, 60.0).values()
        assert port in {row.port for _, row in rows}
    (rows,) = look.look(owners, 120.0).values()
    assert port not in {row.port for _, row in rows}


def test_a_process_that_is_gone_has_no_sockets() -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    look = SocketLook()
    assert look.look({"gone": (gone.pid,), "nobody": ()}, 0.0) == {}
    assert segments_of(gone.pid) == (0, 0)


def test_segments_are_counted_for_a_namespace() -> None:
    before, _ = segments_of(os.getpid())
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection(server.getsockname()) as writer,
        server.accept()[0] as reader,
    ):
        writer.sendall(b"x")
        assert reader.recv(1)
        assert segments_of(os.getpid())[0] > before


class Talk:
    """Tasks that talk to each other all the time, and a look at their links once a second.

    Tables rest by what it cost to read them, for many seconds where all processors are busy.
    Where that is not what a test is about, the time that a look is told goes by faster.
    """

    def __init__(
        self,
        addresses: dict[TaskId, str],
        start: Callable[..., subprocess.Popen[str]],
        *,
        faster: float = 1.0,
    ) -> None:
        self.addresses = addresses
        self._faster = faster
        self.processes: dict[TaskId, subprocess.Popen[str]] = {}
        for task, address in addresses.items():
            peers = [other for peer, other in addresses.items() if peer != task]
            command = [sys.executable, "-c", CHAT, address.rpartition(":")[2], *peers]
            pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
            self.processes[task] = start(task, command, **pipes)
        for word in ("listens", "connected"):
            for process in self.processes.values():
                assert process.stdout is not None
                assert process.stdin is not None
                assert process.stdout.readline() == f"{word}\n"
            for process in self.processes.values():
                assert process.stdin is not None
                if word == "listens":
                    process.stdin.write("go\n")
                    process.stdin.flush()
        self._look = LinkLook("h", addresses)
        self._tasks = {
            task: Watched(
                task=task,
                pid=process.pid,
                address=addresses[task],
                streams={},
                pids=(process.pid,),
                main=process.pid,
            )
            for task, process in self.processes.items()
        }
        self._began_s = time.monotonic()

    def look(self) -> list[Fact]:
        at_s = self._faster * (time.monotonic() - self._began_s)
        return list(self._look.look(self._tasks, at_s))

    def until(self, enough: Callable[[list[LinkSeen]], bool]) -> list[LinkSeen]:
        """What is told, a look a second, until there is enough of it."""
        told: list[LinkSeen] = []
        deadline_s = time.monotonic() + SEEN_S_MAX
        while not enough(told):
            assert time.monotonic() < deadline_s, told
            told += [fact for fact in self.look() if isinstance(fact, LinkSeen)]
            time.sleep(1.0)
        return told

    def end(self) -> None:
        for process in self.processes.values():
            process.send_signal(signal.SIGCONT)
            process.kill()
            process.communicate()


def free_ports(count: int) -> list[int]:
    servers = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [server.getsockname()[1] for server in servers]
    for server in servers:
        server.close()
    return ports


@pytest.fixture
def talk() -> Iterator[Talk]:
    ports = free_ports(2)
    addresses = {A: f"127.0.0.1:{ports[0]}", B: f"localhost:{ports[1]}"}
    made = Talk(
        addresses, lambda task, command, **pipes: subprocess.Popen(command, **pipes), faster=10.0
    )
    yield made
    made.end()


def test_of_tasks_that_talk_only_what_their_links_carry_is_told(talk: Talk) -> None:
    told: list[Fact] = []
    deadline_s = time.monotonic() + SEEN_S_MAX
    while {fact.task for fact in told} != {A, B}:
        assert time.monotonic() < deadline_s, told
        told += talk.look()
        time.sleep(1.0)
    sampled = [fact for fact in told if isinstance(fact, LinksSampled)]
    assert sampled == told
    peers = {fact.task: list(fact.sent_bytes_per_s) for fact in sampled}
    assert peers == {A: [str(B)], B: [str(A)]}
    assert all(sent > 0 for fact in sampled for sent in fact.sent_bytes_per_s.values())


def test_what_a_stopped_task_does_not_read_is_told_and_that_it_reads_again(talk: Talk) -> None:
    talk.processes[B].send_signal(signal.SIGSTOP)
    told = talk.until(bool)
    assert {(fact.task, fact.peer) for fact in told} == {(B, A)}
    assert all(fact.recv_bytes and not fact.retransmits for fact in told)
    talk.processes[B].send_signal(signal.SIGCONT)
    told = talk.until(lambda told: any(not fact.recv_bytes for fact in told))
    assert (told[-1].recv_bytes, told[-1].send_bytes) == (0, 0)


def test_eight_tasks_cost_little_to_watch() -> None:
    ports = free_ports(8)
    addresses = {TaskId("worker", n): f"127.0.0.1:{port}" for n, port in enumerate(ports)}
    eight = Talk(addresses, lambda task, command, **pipes: subprocess.Popen(command, **pipes))
    try:
        look = LinkLook("h", addresses)
        tasks = {
            task: Watched(
                task=task,
                pid=process.pid,
                address=addresses[task],
                streams={},
                pids=(process.pid,),
                main=process.pid,
            )
            for task, process in eight.processes.items()
        }
        list(look.look(tasks, 0.0))
        began_s = time.process_time()
        for second in range(1, LOOKS + 1):
            list(look.look(tasks, float(second)))
        share = (time.process_time() - began_s) / LOOKS
    finally:
        eight.end()
    print(f"{share:.3%} of a core")
    assert share < 2 * CPU_SHARE_MAX  # of a machine that is busy with other things


HOSTS = {A: "host-a", B: "host-b", C: "host-c"}


@pytest.fixture
def net() -> Iterator[Network]:
    with Network(*HOSTS.values()) as made:
        yield made


@pytest.fixture
def apart(net: Network) -> Iterator[Talk]:
    addresses = {task: f"{net.address(host)}:2222" for task, host in HOSTS.items()}
    made = Talk(addresses, lambda task, command, **pipes: net.run_in(HOSTS[task], command, **pipes))
    yield made
    made.end()


@pytest.mark.cluster
@pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT)
def test_a_cut_pair_sends_again_and_again_and_nobody_else_does(net: Network, apart: Talk) -> None:
    assert apart.look() == []
    net.cut("host-b", "host-c")
    told = apart.until(lambda told: any(fact.retransmits >= 4 for fact in told))
    assert {(fact.task, fact.peer) for fact in told} == {(B, C), (C, B)}
    worst = max(told, key=lambda fact: fact.retransmits)
    assert worst.send_bytes >= 200
    assert worst.lasting_s >= 1.9
    net.heal()
    told = apart.until(lambda told: sum(not fact.send_bytes for fact in told) >= 2)
    assert all(fact.recovered for fact in told if not fact.send_bytes)


@pytest.mark.cluster
@pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT)
def test_a_connection_that_is_asked_for_in_vain_is_told(net: Network) -> None:
    net.filter_port("host-b", 2222)
    address = f"{net.address('host-b')}:2222"
    program = f"import socket; socket.create_connection(({net.address('host-b')!r}, 2222), 30)"
    process = net.run_in("host-a", [sys.executable, "-c", program], stderr=subprocess.DEVNULL)
    here = Watched(
        task=A, pid=process.pid, address="", streams={}, pids=(process.pid,), main=process.pid
    )
    look = LinkLook("h", {A: f"{net.address('host-a')}:2222", B: address})
    told: list[Fact] = []
    began_s = time.monotonic()
    while not told and time.monotonic() - began_s < SEEN_S_MAX:
        time.sleep(1.0)
        told = list(look.look({A: here}, time.monotonic() - began_s))
    process.kill()
    process.wait()
    (seen,) = told
    assert isinstance(seen, SocketsSeen)
    assert (seen.task, seen.trying) == (A, (address,))

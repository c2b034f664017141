"""What links between tasks carry: real connections, and a clock of our own."""

import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Self

import pytest

from holdfast.agent import watch_flows
from holdfast.agent.watch_flows import Connection, FlowLook
from holdfast.model.cluster import TaskId
from holdfast.model.watch_facts import LinksSampled
from holdfast.probes.tcp_counts import TcpCounts

PS, WORKER = TaskId("ps", 0), TaskId("worker", 0)
HERE = str(Path("/proc/self/ns/net").readlink())
BYTES = 1_000_000


@pytest.fixture
def ends() -> Iterator[tuple[socket.socket, socket.socket]]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        sender = socket.create_connection(server.getsockname())
        receiver, _ = server.accept()
        with sender, receiver:
            yield sender, receiver


def connection(sender: socket.socket, *, space: str = HERE) -> Connection:
    (host, port), (other, other_port) = sender.getsockname(), sender.getpeername()
    return Connection((space, PS, "7"), WORKER, f"{host}:{port}", f"{other}:{other_port}")


def carry(ends: tuple[socket.socket, socket.socket]) -> None:
    """So much, and an answer: all of it was acknowledged."""
    sender, receiver = ends
    for _ in range(10):
        sender.sendall(bytes(BYTES // 10))
        left = BYTES // 10
        while left:
            left -= len(receiver.recv(left))
    receiver.sendall(b"!")
    sender.recv(1)


def told(look: FlowLook, links: list[Connection], at_s: float) -> list[LinksSampled]:
    look.count(links, at_s)
    return list(look.sampled(at_s))


def test_what_a_task_exchanges_is_counted_every_three_seconds(
    ends: tuple[socket.socket, socket.socket],
) -> None:
    look, link = FlowLook("host-a"), connection(ends[0])
    assert look.count([link], 0.0) == {}, "two counts make one answer"
    assert list(look.sampled(0.0)) == []
    carry(ends)
    assert look.count([link], 4.0)[PS] == pytest.approx(BYTES / 4, abs=1)
    assert look.count([link], 8.0) == {PS: 0.0}
    assert list(look.sampled(8.0)) == [], "it is told less often"
    assert (look.is_due(10.0), look.is_due(11.0)) == (False, True)


def test_bytes_a_second_are_told_by_peer_and_seldom(
    ends: tuple[socket.socket, socket.socket],
) -> None:
    look, link = FlowLook("host-a"), connection(ends[0])
    facts: list[LinksSampled] = []
    for at_s in range(0, 200, 10):
        facts += told(look, [link], float(at_s))
        carry(ends)
    first = facts[0]
    assert [fact.at_s for fact in facts] == [10.0, 70.0, 130.0, 190.0]
    assert (first.task, first.over_s) == (PS, 10.0)
    assert first.sent_bytes_per_s["worker:0"] == pytest.approx(BYTES / 10, abs=1)
    assert first.received_bytes_per_s == {"worker:0": 0.1}
    assert 0.0 <= first.network_share["worker:0"] <= 1.0


def test_of_another_namespace_and_of_a_closed_connection_nothing_is_told(
    ends: tuple[socket.socket, socket.socket],
) -> None:
    look, elsewhere = FlowLook("host-a"), connection(ends[0], space="net:[1]")
    closed = Connection((HERE, PS, "8"), WORKER, "127.0.0.1:1", "127.0.0.1:2")
    facts = [fact for at_s in (0.0, 60.0) for fact in told(look, [elsewhere, closed], at_s)]
    assert facts == []


def test_what_waits_for_the_network_is_told_often_and_when_it_is_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Answers:
        namespace = HERE
        now = TcpCounts(0, 0, 0.0)

        def __enter__(self) -> Self:
            return self

        def __exit__(self, *_: object) -> None:
            pass

        def counts(self, _local: str, _remote: str) -> TcpCounts:
            return self.now

    monkeypatch.setattr(watch_flows, "TcpAsked", Answers)
    look, link = FlowLook("host-a"), Connection((HERE, PS, "7"), WORKER, "a:1", "b:2")
    shares: list[tuple[float, float]] = []
    for at_s in range(0, 130, 10):
        full_s = min(max(0, at_s - 20), 40)  # from 20 s until 60 s
        Answers.now = TcpCounts(sent_bytes=at_s << 20, received_bytes=0, network_s=0.9 * full_s)
        shares += [(f.at_s, f.network_share["worker:0"]) for f in told(look, [link], float(at_s))]
    often = [(float(at_s), 0.9) for at_s in (30, 40, 50, 60)]
    assert shares == [(10.0, 0.0), *often, (70.0, 0.0)]

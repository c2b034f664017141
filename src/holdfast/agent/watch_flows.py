"""What the connections between tasks carry, and how much of the time they wait for the network."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from holdfast.agent.rates import rate
from holdfast.model.cluster import TaskId
from holdfast.model.traffic import LOOK_S
from holdfast.model.watch_facts import LinksSampled
from holdfast.probes.tcp_counts import TcpAsked, TcpCounts

EVERY_S = 10.0  # between what is told
WELL_AGAIN_S = 60.0
CONNECTIONS_MAX = 256  # in one look
PEERS_MAX = 8  # in one fact
EXCHANGED = ("sent_bytes", "received_bytes")
FULL_SHARE, FULL_BYTES_PER_S = 0.5, 64 << 10  # from here on it is worth telling often


class Connection(NamedTuple):
    """A task's end of one connection to a peer."""

    key: tuple[str, TaskId, str]  # namespace, task, inode
    peer: TaskId
    local: str
    remote: str


_Counts = dict[tuple[str, TaskId, str], tuple[TaskId, TcpCounts]]
_Pairs = dict[TaskId, dict[TaskId, list[tuple[TcpCounts, TcpCounts]]]]


class _Told(NamedTuple):
    at_s: float = float("-inf")
    was_full: bool = False


class FlowLook:
    """Knows of connections in our own network namespace only: the kernel answers for no other."""

    def __init__(self, host: str) -> None:
        self._host = host
        self._counted_s = self._looked_s = float("-inf")
        self._counted: _Counts = {}
        self._before: _Counts = {}
        self._told: dict[TaskId, _Told] = {}

    def is_due(self, at_s: float) -> bool:
        return at_s - self._counted_s >= LOOK_S

    def count(self, connections: Iterable[Connection], at_s: float) -> dict[TaskId, float]:
        """Bytes a second that each task has exchanged since the count before."""
        over_s, self._counted_s = at_s - self._counted_s, at_s
        before, self._counted = self._counted, {}
        with TcpAsked() as asked:
            here = [one for one in connections if one.key[0] == asked.namespace]
            for one in here[:CONNECTIONS_MAX]:
                counts = asked.counts(one.local, one.remote)
                if counts is not None:
                    self._counted[one.key] = (one.peer, counts)
        rates: dict[TaskId, float] = {}
        for task, peers in _pairs(before, self._counted).items():
            pairs = [pair for of_peer in peers.values() for pair in of_peer]
            rates[task] = sum(
                _sum(pairs, what, over_s) for what in ("sent_bytes", "received_bytes")
            )
        return rates

    def sampled(self, at_s: float) -> Iterator[LinksSampled]:
        """What is worth telling by the last count. Two of them make one answer."""
        over_s = at_s - self._looked_s
        if over_s < EVERY_S:
            return
        before, self._before, self._looked_s = self._before, self._counted, at_s
        for task, peers in _pairs(before, self._counted).items():
            fact = self._sampled(task, peers, at_s, over_s)
            if self._is_worth(task, fact):
                yield fact

    def _sampled(
        self,
        task: TaskId,
        peers: Mapping[TaskId, list[tuple[TcpCounts, TcpCounts]]],
        at_s: float,
        over_s: float,
    ) -> LinksSampled:
        sent = {peer: _sum(pairs, "sent_bytes", over_s) for peer, pairs in peers.items()}
        received = {peer: _sum(pairs, "received_bytes", over_s) for peer, pairs in peers.items()}
        busiest = sorted(peers, key=lambda peer: (-sent[peer] - received[peer], peer))[:PEERS_MAX]
        where: dict[str, Any] = {"at_s": at_s, "host": self._host, "task": task}
        return LinksSampled(
            over_s=round(over_s, 3),
            sent_bytes_per_s={str(peer): sent[peer] for peer in busiest},
            received_bytes_per_s={str(peer): received[peer] for peer in busiest},
            network_share={str(peer): _network_share(peers[peer], over_s) for peer in busiest},
            **where,
        )

    def _is_worth(self, task: TaskId, fact: LinksSampled) -> bool:
        told = self._told.setdefault(task, _Told())
        full = any(
            share >= FULL_SHARE and fact.sent_bytes_per_s[peer] >= FULL_BYTES_PER_S
            for peer, share in fact.network_share.items()
        )
        worth = full or told.was_full or fact.at_s - told.at_s >= WELL_AGAIN_S - 1
        if worth:
            self._told[task] = _Told(fact.at_s, full)
        return worth


def _pairs(before: _Counts, now: _Counts) -> _Pairs:
    """Of connections that were there both times, by task and peer."""
    found: _Pairs = {}
    for key, (peer, counts) in now.items():
        if key in before:
            found.setdefault(key[1], {}).setdefault(peer, []).append((before[key][1], counts))
    return found


def _sum(pairs: Iterable[tuple[TcpCounts, TcpCounts]], what: str, over_s: float) -> float:
    rates = (rate(getattr(old, what), getattr(new, what), over_s) for old, new in pairs)
    return round(sum(max(0.0, one) for one in rates), 1)


def _network_share(pairs: Iterable[tuple[TcpCounts, TcpCounts]], over_s: float) -> float:
    """Of the connection that waited most."""
    waited_s = max(new.network_s - old.network_s for old, new in pairs)
    return round(min(1.0, max(0.0, waited_s / over_s)), 3)

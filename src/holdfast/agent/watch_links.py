"""Which connections between tasks do not flow: data nobody acknowledges, or nobody reads."""

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from holdfast.agent.watch_flows import Connection, FlowLook
from holdfast.agent.watched import Watched
from holdfast.model.cluster import TaskId
from holdfast.model.facts import Fact, SocketsSeen
from holdfast.model.queues import AGAIN_MIN, Queues, next_queues
from holdfast.model.tcp_table import SYN_SENT, TcpRow
from holdfast.model.watch_facts import LinkSeen
from holdfast.probes.links import SocketLook, is_open, sorted_by_state

AGAIN_S = 5.0
SURE_S = 4.0  # after that a cut link is known to be one
OTHERS_S = 0.3  # a look more, for links of others that may be cut: all of them tell who is cut off
RECOVERED_KEPT_S = 60.0
RECOVERED_MAX = 32
RECOVERED_AGAIN_S = 15.0
TOLD_A_PAIR_MAX = 2  # connections, in one look
LOOPBACK = ("127.", "[::1]")
LOCALHOST = ("127.0.0.1", "[::1]")

Ends = tuple[str, str, str]  # namespace where the address means nothing outside, local, remote
Rows = list[tuple[TaskId, TcpRow]]


@dataclass(slots=True)
class _Link:
    """A task's end of one connection to a peer."""

    peer: TaskId
    queues: Queues
    local: str  # the addresses of both ends
    remote: str
    told_s: float | None = None
    told_retransmits: int = 0


@dataclass(slots=True)
class _Tries:
    """Connections to peers that a task has asked for, and got no answer to."""

    since: dict[str, float] = field(default_factory=dict)  # inode -> when it was first seen
    told_s: float | None = None
    told: tuple[str, ...] = ()


class LinkLook:
    """Tells of a link that does not flow, again while that lasts, and once when it flows."""

    def __init__(self, host: str, addresses: Mapping[TaskId, str]) -> None:
        self._host = host
        self._servers = {
            place: task for task, address in addresses.items() for place in _written(address)
        }
        ips = [place.rpartition(":")[0] for place in self._servers]
        # From a port that is nobody's server, an address tells who it is if it has one task.
        self._alone = {
            place.rpartition(":")[0]: task
            for place, task in self._servers.items()
            if ips.count(place.rpartition(":")[0]) == 1 and not place.startswith(LOOPBACK)
        }
        self._sockets = SocketLook()
        self._flows = FlowLook(host)
        self._links: dict[tuple[str, TaskId, str], _Link] = {}  # by namespace, task and inode
        self._tries: dict[TaskId, _Tries] = {}
        self._recovered: dict[tuple[TaskId, TaskId], deque[float]] = {}
        self._lossy_told_s: dict[tuple[TaskId, TaskId], float] = {}
        self._resting: set[str] = set()  # namespaces with suspects that this look leaves out
        self._held_s: float | None = None  # since when a first word waits for these

    def look(self, tasks: Mapping[TaskId, Watched], at_s: float) -> Iterator[Fact]:
        owners = {
            task: (watched.main, *(pid for pid in watched.pids if pid != watched.main))
            for task, watched in tasks.items()
        }
        seen = self._sockets.look(
            owners, at_s, wanted=self._suspect_spaces(), hurried=self._hurried_spaces()
        )
        self._resting = self._suspect_spaces() - seen.keys()
        self._held_s = self._held_s if self.hurries else None
        ends = {_ends(space, row): task for space, rows in seen.items() for task, row in rows}
        for space, rows in seen.items():
            self._forget(space, rows)
            links = [(task, row) for task, row in rows if is_open(row)]
            yield from self._look_at_links(space, links, ends, at_s)
            yield from self._look_at_tries(rows, at_s)
        if self._flows.is_due(at_s):
            for task, rate in self._flows.count(self._connections(), at_s).items():
                if task in tasks:
                    tasks[task].exchanged_per_s = rate
            yield from self._flows.sampled(at_s)

    def _connections(self) -> Iterator[Connection]:
        for key, link in self._links.items():
            yield Connection(key, link.peer, link.local, link.remote)

    @property
    def hurries(self) -> bool:
        """Whether a link may have been cut just now: the next seconds tell."""
        return bool(self._hurried_spaces())

    def _hurried_spaces(self) -> set[str]:
        return {
            space
            for (space, _, _), link in self._links.items()
            if link.queues.retransmits >= AGAIN_MIN
            and link.queues.send is not None
            and link.queues.at_s - link.queues.send.since_s < SURE_S
        }

    def _suspect_spaces(self) -> set[str]:
        return {
            space
            for (space, _, _), link in self._links.items()
            if link.queues.is_suspect or link.told_s is not None
        }

    def _forget(self, space: str, rows: Rows) -> None:
        """What is closed does not flow again: it is not told, only forgotten."""
        here = {(space, task, row.inode) for task, row in rows if is_open(row)}
        for key in [key for key in self._links if key[0] == space and key not in here]:
            del self._links[key]

    def _look_at_links(
        self, space: str, rows: Rows, ends: Mapping[Ends, TaskId], at_s: float
    ) -> Iterator[Fact]:
        told: dict[tuple[TaskId, TaskId], int] = {}
        for task, row in rows:
            key = (space, task, row.inode)
            link = self._links.get(key)
            peer = link.peer if link else self._peer_of(space, row, ends)
            if peer is None or peer == task:
                continue
            queues = next_queues(link.queues if link else None, row, at_s)
            link = self._links.setdefault(key, _Link(peer, queues, row.local, row.remote))
            link.queues = queues
            if queues.recovered:
                past = self._recovered.setdefault((task, peer), deque(maxlen=RECOVERED_MAX))
                past.append(at_s)
            cut = _is_news(link, at_s) and not self._waits_for_others(link, at_s)
            news = cut or self._is_lossy_news(task, link, at_s)
            if news and told.get((task, peer), 0) < TOLD_A_PAIR_MAX:
                told[task, peer] = told.get((task, peer), 0) + 1
                yield self._fact(task, link, row, at_s)

    def _waits_for_others(self, link: _Link, at_s: float) -> bool:
        if link.told_s is not None or not self._resting:
            return False
        self._held_s = at_s if self._held_s is None else self._held_s
        return at_s - self._held_s < OTHERS_S

    def _is_lossy_news(self, task: TaskId, link: _Link, at_s: float) -> bool:
        """A link that flows, but only because what got lost was sent again: told now and then."""
        pair = (task, link.peer)
        again = at_s - self._lossy_told_s.get(pair, -RECOVERED_AGAIN_S) >= RECOVERED_AGAIN_S
        lossy = link.queues.recovered and again
        if lossy:
            self._lossy_told_s[pair] = at_s
        return lossy

    def _peer_of(self, space: str, row: TcpRow, ends: Mapping[Ends, TaskId]) -> TaskId | None:
        """Who has the other end: seen here, or known by the address of its server."""
        across = _ends(space, row)
        found = ends.get((across[0], row.remote, row.local)) or self._servers.get(row.remote)
        return found or self._alone.get(row.remote.rpartition(":")[0])

    def _fact(self, task: TaskId, link: _Link, row: TcpRow, at_s: float) -> LinkSeen:
        """As it stands; a link that flows has no bytes to tell of."""
        queues = link.queues
        send_s, recv_s = queues.send_stuck_s, queues.recv_stuck_s
        stuck = bool(send_s or recv_s)
        link.told_s = at_s if stuck else None
        link.told_retransmits = queues.retransmits if stuck else 0
        return LinkSeen(
            peer=link.peer,
            address=row.remote,
            send_bytes=row.send_bytes if send_s else 0,
            recv_bytes=row.recv_bytes if recv_s else 0,
            retransmits=queues.retransmits if send_s else 0,
            lasting_s=round(max(send_s, recv_s), 3),
            recovered=self._recovered_lately({task, link.peer}, at_s),
            recovered_here=self._between(task, link.peer, at_s=at_s),
            at_s=at_s,
            host=self._host,
            task=task,
        )

    def _recovered_lately(self, ends: set[TaskId], at_s: float) -> int:
        """On any link of the two: a bad line is bad for all."""
        return sum(
            at_s - then_s <= RECOVERED_KEPT_S
            for pair, past in self._recovered.items()
            if ends & set(pair)
            for then_s in past
        )

    def _between(self, task: TaskId, peer: TaskId, *, at_s: float) -> int:
        """How often it lately got through again between these two, in either direction."""
        return sum(
            at_s - then_s <= RECOVERED_KEPT_S
            for pair in ((task, peer), (peer, task))
            for then_s in self._recovered.get(pair, ())
        )

    def _look_at_tries(self, rows: Rows, at_s: float) -> Iterator[Fact]:
        """Connections to servers of the cluster that are asked for in two looks."""
        for task in dict.fromkeys(task for task, _ in rows):
            own = [row for owner, row in rows if owner == task]
            asked = {
                row.inode: row
                for row in own
                if row.state == SYN_SENT and row.remote in self._servers
            }
            tries = self._tries.setdefault(task, _Tries())
            lasting = [row for inode, row in asked.items() if inode in tries.since]
            tries.since = {inode: tries.since.get(inode, at_s) for inode in asked}
            vain = tuple(sorted({row.remote for row in lasting}))
            again = tries.told_s is None or at_s - tries.told_s >= AGAIN_S
            if vain == tries.told and not (vain and again):
                continue
            tries.told, tries.told_s = vain, at_s if vain else None
            where: dict[str, Any] = {"at_s": at_s, "host": self._host, "task": task}
            now = sorted_by_state(own)
            yield SocketsSeen(
                listening=now.listening, connected=now.connected, trying=vain, **where
            )


def _is_news(link: _Link, at_s: float) -> bool:
    stuck = link.queues.send_stuck_s or link.queues.recv_stuck_s
    if link.told_s is None:
        return bool(stuck)
    if not stuck:
        return link.queues.send is None and link.queues.recv is None
    # Each time that data is sent again in vain takes twice as long as the one before.
    return at_s - link.told_s >= AGAIN_S or link.queues.retransmits > link.told_retransmits


def _ends(space: str, row: TcpRow) -> Ends:
    """The loopback addresses of two namespaces have nothing to do with each other."""
    return (space if row.local.startswith(LOOPBACK) else "", row.local, row.remote)


def _written(address: str) -> Iterator[str]:
    """An address as the kernel's tables have it; no name is looked up."""
    host, _, port = address.rpartition(":")
    yield from (f"{ip}:{port}" for ip in (LOCALHOST if host == "localhost" else (host,)))

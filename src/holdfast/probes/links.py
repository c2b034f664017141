"""The TCP sockets of processes and what stands in their queues, straight from /proc."""

import math
import os
import time
from collections.abc import Container, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from holdfast.model.tcp_table import CLOSE_WAIT, ESTABLISHED, LISTEN, SYN_SENT, TcpRow, rows_in

TABLES = ("tcp6", "tcp")  # gRPC's own sockets are of the first kind, whatever they carry
CHUNK_BYTES, ROW_BYTES_MAX, CHUNKS_MAX = 4_096, 512, 4_096
SNMP_BYTES_MAX = 1 << 16
SOCKETS_MAX = 4_096
FILES_EVERY_S = 10.0  # how often descriptors are read anew although their number is the same
EMPTY_EVERY_S = 10.0  # how often a table is read in which nothing was ours
QUIET_EVERY_S = 4.0  # how often a namespace is read in which nothing was sent again
REST_FOR_WORK = 350  # never much more than 0.3 % of a core
HURRY = 4  # so much more often for the few seconds in which a cut becomes known
PROCESSES_MAX = 64  # of one task
Owner = TypeVar("Owner", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Sockets:
    """As SocketsSeen has them."""

    listening: tuple[int, ...] = ()  # ports
    connected: tuple[str, ...] = ()  # addresses of the other end
    trying: tuple[str, ...] = ()  # asked for a connection, and no answer yet


def sockets_of(pids: Iterable[int]) -> Sockets:
    """Their sockets, as the network namespace of the first of them has them."""
    known = list(pids)
    inodes = {inode for pid in known for inode in _socket_inodes(pid)}
    tables = (_table(known[0], name) for name in TABLES) if inodes else ()
    return sorted_by_state(row for text in tables for row in rows_in(text, inodes))


def sorted_by_state(rows: Iterable[TcpRow]) -> Sockets:
    """Rows of a table as who listens, who is connected, and who tries to be."""
    listening: set[int] = set()
    others: dict[str, set[str]] = {ESTABLISHED: set(), SYN_SENT: set()}
    for row in rows:
        if row.state == LISTEN:
            listening.add(row.port)
        elif row.state in others:
            others[row.state].add(row.remote)
    return Sockets(
        listening=tuple(sorted(listening)[:SOCKETS_MAX]),
        connected=tuple(sorted(others[ESTABLISHED])[:SOCKETS_MAX]),
        trying=tuple(sorted(others[SYN_SENT])[:SOCKETS_MAX]),
    )


def segments_of(pid: int) -> tuple[int, int]:
    """TCP segments sent, and sent again, so far in the network namespace of a process."""
    heads: list[str] = []
    for line in _read(f"/proc/{pid}/net/snmp").splitlines():
        words = line.split()
        if words[:1] != ["Tcp:"]:
            continue
        if heads:
            counts = dict(zip(heads, words, strict=False))
            return int(counts.get("OutSegs", 0)), int(counts.get("RetransSegs", 0))
        heads = words
    return 0, 0


@dataclass(slots=True)
class _Files:
    """The sockets among a process's descriptors, when they were last read."""

    count: int
    read_s: float
    inodes: frozenset[str]


@dataclass(slots=True)
class _Space:
    """What is known of a network namespace."""

    read_s: float = -math.inf  # when its tables were last read
    rest_s: float = 0.0  # how long to leave them alone, by what that cost
    again: int = 0  # segments sent again, so far
    empty_s: dict[str, float] = field(default_factory=dict)  # table -> when nothing was ours


class SocketLook:
    """The sockets of several owners: one pass over the tables of each network namespace.

    The kernel walks through all of its memory for sockets to write a table, which takes some
    milliseconds even if there are few. So tables are read when segments were sent again, when
    somebody wants it, and otherwise every few seconds.
    """

    def __init__(self) -> None:
        self._files: dict[int, _Files] = {}
        self._spaces: dict[str, _Space] = {}

    def look(
        self,
        owners: Mapping[Owner, Sequence[int]],
        at_s: float,
        *,
        wanted: Container[str] = (),
        hurried: Container[str] = (),
    ) -> dict[str, list[tuple[Owner, TcpRow]]]:
        """Each namespace that was read, with the sockets in it and whose they are.

        All processes of an owner are taken to be in the namespace of the first. Those that are
        `hurried` are wanted, too.
        """
        families: dict[str, list[tuple[Owner, Sequence[int]]]] = {}
        for owner, pids in owners.items():
            space = _namespace(pids[0]) if pids else ""
            if space:
                families.setdefault(space, []).append((owner, pids[:PROCESSES_MAX]))
        self._spaces = {space: self._spaces.get(space, _Space()) for space in families}
        known = {pid for family in families.values() for _, pids in family for pid in pids}
        self._files = {pid: files for pid, files in self._files.items() if pid in known}
        return {
            space: self._look_in(self._spaces[space], family, at_s)
            for space, family in families.items()
            if _is_due(
                self._spaces[space],
                family[0][1][0],
                at_s,
                wanted=space in wanted,
                hurried=space in hurried,
            )
        }

    def _look_in(
        self, space: _Space, family: list[tuple[Owner, Sequence[int]]], at_s: float
    ) -> list[tuple[Owner, TcpRow]]:
        began_s = time.thread_time()
        whose = {
            inode: owner
            for owner, pids in family
            for pid in pids
            for inode in self._inodes(pid, at_s)
        }
        found: list[tuple[Owner, TcpRow]] = []
        for name in TABLES if whose else ():
            if at_s - space.empty_s.get(name, -math.inf) < EMPTY_EVERY_S:
                continue
            rows = list(rows_in(_table(family[0][1][0], name), whose))
            found += [(whose[row.inode], row) for row in rows]
            if rows:
                space.empty_s.pop(name, None)
            else:
                space.empty_s[name] = at_s
        space.read_s = at_s
        space.rest_s = REST_FOR_WORK * (time.thread_time() - began_s)
        return found

    def _inodes(self, pid: int, at_s: float) -> frozenset[str]:
        """Reading all descriptors is dear as well, so only when there may be new ones."""
        count, before = _files_open(pid), self._files.get(pid)
        if before and before.count == count and at_s - before.read_s < FILES_EVERY_S:
            return before.inodes
        files = _Files(count, at_s, frozenset(_socket_inodes(pid)))
        self._files[pid] = files
        return files.inodes


def _is_due(space: _Space, reader: int, at_s: float, *, wanted: bool, hurried: bool) -> bool:
    again, before = segments_of(reader)[1], space.again
    space.again = again
    waited_s = at_s - space.read_s
    if waited_s < (space.rest_s / HURRY if hurried else space.rest_s):
        return False
    return wanted or hurried or again != before or waited_s >= QUIET_EVERY_S


def is_open(row: TcpRow) -> bool:
    """Whether a connection stands, at least on our side."""
    return row.state in {ESTABLISHED, CLOSE_WAIT}


def _namespace(pid: int) -> str:
    try:
        return os.readlink(f"/proc/{pid}/ns/net")  # noqa: PTH115 - as below
    except OSError:
        return ""


def _files_open(pid: int) -> int:
    """How many descriptors a process has: since Linux 6.2 the size of the folder says it."""
    try:
        size = os.stat(f"/proc/{pid}/fd").st_size  # noqa: PTH116 - as below
        return size or len(os.listdir(f"/proc/{pid}/fd"))  # noqa: PTH208 - as below
    except OSError:
        return 0


def _socket_inodes(pid: int) -> Iterator[str]:
    folder = f"/proc/{pid}/fd"
    try:
        numbers = os.listdir(folder)  # noqa: PTH208 - a Path for each costs more than the look
    except OSError:
        return
    for number in numbers:
        try:
            target = os.readlink(f"{folder}/{number}")  # noqa: PTH115 - as above
        except OSError:
            continue
        if target.startswith("socket:["):
            yield target[len("socket:[") : -1]


def _table(pid: int, name: str) -> str:
    """A table as it stands now; empty when the process is gone."""
    chunks: list[bytes] = []
    try:
        table = os.open(f"/proc/{pid}/net/{name}", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        while len(chunks) < CHUNKS_MAX:
            chunks.append(os.read(table, CHUNK_BYTES))
            # A chunk ends where the next row does not fit, or at the end of the table. To be
            # told of the end, the kernel would walk through all of its memory once more.
            if len(chunks[-1]) < CHUNK_BYTES - ROW_BYTES_MAX:
                break
    except OSError:
        return ""
    finally:
        os.close(table)
    return b"".join(chunks).decode("ascii", "replace")


def _read(path: str) -> str:
    try:
        with open(path) as file:  # noqa: PTH123 - as above
            return file.read(SNMP_BYTES_MAX)
    except OSError:
        return ""

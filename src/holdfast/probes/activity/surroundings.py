"""What is around processes: whose relatives they are, and what these have open; read once."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

from holdfast.model.redact import redact
from holdfast.model.tcp_table import LISTEN, TcpRow, rows_in
from holdfast.probes import access_of
from holdfast.probes.activity.sample import read

COMMAND_LENGTH_MAX = 160
PATH_LENGTH_MAX = 240
COMMAND_BYTES_MAX = 4_096
RELATIVES_MAX = 64  # in whose files the other end of a pipe is looked for
ABOVE_MAX = 4  # generations
FILES_MAX = 512  # of one process
TABLE_BYTES_MAX = 2 << 20
_TABLES = ("tcp", "tcp6", "udp", "udp6")
_UNIX_PATH = 7  # which word of its line


@dataclass(slots=True)
class Surroundings:
    """For one look at all tasks: what one of them has asked for costs the next nothing."""

    children: Mapping[int, Sequence[int]]  # every process of this host -> those that it started
    _parents: dict[int, int] = field(init=False)
    _links: dict[int, dict[str, list[str]]] = field(default_factory=dict)
    _commands: dict[int, str] = field(default_factory=dict)
    _tables: dict[tuple[str, str], str] = field(default_factory=dict)
    _locks: list[str] | None = None

    def __post_init__(self) -> None:
        self._parents = {child: pid for pid, born in self.children.items() for child in born}

    def command(self, pid: int) -> str:
        """Its command line without secrets; its name in brackets where it has none."""
        if pid not in self._commands:
            words = read(f"/proc/{pid}/cmdline", COMMAND_BYTES_MAX).replace("\0", " ")
            said = shown(words, COMMAND_LENGTH_MAX)
            name = shown(read(f"/proc/{pid}/comm"), COMMAND_LENGTH_MAX)
            self._commands[pid] = said or (f"[{name}]" if name else "")
        return self._commands[pid]

    def named(self, pid: int) -> str:
        """`pid 4711 (python x.py)`."""
        command = self.command(pid)
        return f"pid {pid} ({command})" if command else f"pid {pid}, which is gone"

    def link(self, pid: int, descriptor: int) -> str:
        """What a descriptor leads to: a path, `pipe:[17]`, `socket:[18]`; empty: not known."""
        try:
            return os.readlink(f"/proc/{pid}/fd/{descriptor}")  # noqa: PTH115 - no path of ours
        except OSError:
            return ""

    def other_end(self, pid: int, link: str, *, writes: bool) -> int:
        """Who among its relatives has a pipe open to write into it, or to read; 0: nobody seen.

        The process itself is the last of whom we think: many forget to close the other end.
        """
        wanted = {os.O_RDWR, os.O_WRONLY if writes else os.O_RDONLY}
        for other in (*self._relatives(pid), pid):
            if any(access_of(other, name) in wanted for name in self._files(other).get(link, ())):
                return other
        return 0

    def lock_waited_for(self, pid: int) -> tuple[str, int]:
        """The DEVICE:INODE that a process wants to lock, and who holds it; 0: not known."""
        if self._locks is None:
            self._locks = read("/proc/locks", TABLE_BYTES_MAX).splitlines()
        return holder_in(self._locks, pid)

    def has_locked(self, pid: int, link: str) -> int:
        """Who among its relatives has a file open that is locked thereby; 0: nobody seen."""
        for other in (*self._relatives(pid), pid):
            names = self._files(other).get(link, ())
            if any("\nlock:" in read(f"/proc/{other}/fdinfo/{name}") for name in names):
                return other
        return 0

    def socket(self, pid: int, link: str) -> str:
        """The peer of a socket, or where it listens; empty where no table has it."""
        inode = link.removeprefix("socket:[").removesuffix("]")
        for table in _TABLES:
            for row in rows_in(self._table(pid, table), {inode}):
                return _end(row, table)
        for line in self._table(pid, "unix").splitlines():
            words = line.split(maxsplit=_UNIX_PATH)
            if words[6:7] == [inode]:
                return f"the local socket {shown(words[7])}" if words[7:] else "a local socket"
        return ""

    def _table(self, pid: int, name: str) -> str:
        try:
            space = os.readlink(f"/proc/{pid}/ns/net")  # noqa: PTH115 - no path of ours
        except OSError:
            space = str(pid)
        if (space, name) not in self._tables:
            self._tables[space, name] = read(f"/proc/{pid}/net/{name}", TABLE_BYTES_MAX)
        return self._tables[space, name]

    def _relatives(self, pid: int) -> Iterator[int]:
        """Those below it, its parent and its siblings, and so on upwards."""
        return islice(self._near(pid), RELATIVES_MAX)

    def _near(self, pid: int) -> Iterator[int]:
        seen = {pid}
        for _ in range(ABOVE_MAX):
            ahead = [pid]
            while ahead:
                one = ahead.pop(0)
                if one not in seen:
                    seen.add(one)
                    yield one
                ahead += self.children.get(one, ())
            pid = self._parents.get(pid, 0)
            if pid <= 1:
                return

    def _files(self, pid: int) -> dict[str, list[str]]:
        """Everything that a process has open -> by which descriptors."""
        if pid not in self._links:
            found: dict[str, list[str]] = {}
            for name in _descriptors(pid):
                found.setdefault(self.link(pid, int(name)), []).append(name)
            self._links[pid] = found
        return self._links[pid]


def shown(text: str, length_max: int = PATH_LENGTH_MAX) -> str:
    """A stranger's words in one line: printable, and without secrets."""
    plain = "".join(c if c.isprintable() else " " for c in text)
    return redact(" ".join(plain.split()))[:length_max]


def holder_in(locks: Sequence[str], pid: int) -> tuple[str, int]:
    """The file that a process wants to lock, by /proc/locks, and who holds it; 0: not known.

    Who waits stands below the lock that it waits for, under the same number, with an arrow. A
    holder that the kernel does not name has no number above 0.
    """
    held: dict[str, int] = {}
    for line in locks:
        number, *words = line.split()
        waits = words[:1] == ["->"]
        try:
            _, _, _, owner, file = words[1:6] if waits else words[:5]
            if waits and int(owner) == pid:
                return file, max(0, held.get(number, 0))
            held[number] = held.get(number, 0) if waits else int(owner)
        except ValueError:
            continue
    return "", 0


def _end(row: TcpRow, table: str) -> str:
    if row.state == LISTEN:
        return f"listens on {row.local}"
    if row.remote.endswith(":0"):  # UDP that is not bound to one peer
        return f"{table[:3]} at {row.local}"
    return row.remote


def _descriptors(pid: int) -> list[str]:
    try:
        return os.listdir(f"/proc/{pid}/fd")[:FILES_MAX]  # noqa: PTH208 - as everywhere in /proc
    except OSError:
        return []

"""What /proc says of a task's processes: who belongs to it, and whether it still works."""

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_STAT_PPID, _STAT_UTIME, _STAT_STIME, _STAT_STARTED = 1, 11, 12, 19  # counted after `comm`
_STAT_STATUS = 49


@dataclass(frozen=True, slots=True)
class ProcessStat:
    pid: int
    parent: int
    state: str
    cpu_s: float
    started_ticks: int  # with the pid, the identity of a process: pids are used again


def stat_of(pid: int) -> ProcessStat | None:
    fields = _fields(pid)
    if not fields:
        return None
    return ProcessStat(
        pid=pid,
        parent=int(fields[_STAT_PPID]),
        state=fields[0].decode(),
        cpu_s=(int(fields[_STAT_UTIME]) + int(fields[_STAT_STIME])) / _TICKS_PER_S,
        started_ticks=int(fields[_STAT_STARTED]),
    )


def began_unix_s(process: ProcessStat) -> float:
    """When it was started, by the clock of files."""
    booted_unix_s = time.time() - time.clock_gettime(time.CLOCK_BOOTTIME)
    return booted_unix_s + process.started_ticks / _TICKS_PER_S


def _fields(pid: int) -> list[bytes]:
    """From its state on: before it stands a name that may hold anything. Empty: it is gone."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123 - as children_by_parent
            text = file.read()
    except OSError:
        return []
    return text[text.rindex(b")") + 2 :].split()


Children = dict[int, list[ProcessStat]]


def children_by_parent() -> Children:
    """Every process of this host, in one pass over /proc."""
    children: Children = {}
    for name in os.listdir("/proc"):  # noqa: PTH208 - a Path for each costs more than the look
        if name.isdigit() and (found := stat_of(int(name))):
            children.setdefault(found.parent, []).append(found)
    return children


def descendants(root: int, children: Children | None = None) -> list[ProcessStat]:
    """Every live process below `root`, nearest first. Zombies do not count."""
    children = children_by_parent() if children is None else children
    return [process for process in offspring(root, children) if process.state != "Z"]


def offspring(root: int, children: Children) -> list[ProcessStat]:
    """Every process below `root`, nearest first: also those that nobody has buried yet."""
    below: list[ProcessStat] = []
    ahead = [root]
    while ahead:
        born = children.get(ahead.pop(0), [])
        below += born
        ahead += [child.pid for child in born]
    return below


def end_status_of(process: ProcessStat) -> int:
    """How a process ended that nobody has buried yet, as wait(2) would tell; 0 where nobody may."""
    fields = _fields(process.pid)
    is_it = len(fields) > _STAT_STATUS and int(fields[_STAT_STARTED]) == process.started_ticks
    return int(fields[_STAT_STATUS]) if is_it and fields[0] == b"Z" else 0


def command_of(pid: int) -> str:
    """The name of the program, without its arguments: those may hold secrets."""
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


class Wait(Enum):
    """What the main thread of a process waits for."""

    NOTHING = "it runs, or it is gone"
    TIMER = "time, or what may come from outside"
    WAKER = "whoever wakes it: a futex without a time-out, as in a server's join()"
    RELATIVE = "a child's end or a pipe, as a shell waits around the program it has started"
    UNKNOWN = "/proc does not tell"


def wait_without_timer(pids: Sequence[int]) -> bool | None:
    """Whether all of a tree sleeps until somebody wakes it; None when /proc does not tell.

    A program that will go on by itself, such as one in time.sleep(), stands in a timer.
    """
    waits = {_wait_of(pid) for pid in pids}
    if Wait.UNKNOWN in waits and waits <= {Wait.UNKNOWN, Wait.WAKER, Wait.RELATIVE}:
        return None
    return Wait.WAKER in waits and waits <= {Wait.WAKER, Wait.RELATIVE}


def _wait_of(pid: int) -> Wait:
    try:
        channel = Path(f"/proc/{pid}/wchan").read_text().strip()
        call = Path(f"/proc/{pid}/syscall").read_text().split()
    except (FileNotFoundError, ProcessLookupError):
        return Wait.NOTHING
    except OSError:
        return Wait.UNKNOWN
    if call[:1] == ["running"]:
        return Wait.NOTHING
    if not channel or channel == "0" or len(call) < 5:  # noqa: PLR2004 - number and 4 arguments
        return Wait.UNKNOWN
    if channel.startswith("futex"):
        return Wait.WAKER if int(call[4], 16) == 0 else Wait.TIMER
    return Wait.RELATIVE if any(word in channel for word in _RELATIVE) else Wait.TIMER


_RELATIVE = ("do_wait", "sigsuspend", "pipe_read", "pipe_wait")


def open_files_limit(pid: int) -> int | None:
    """The soft limit of open files, also of a process that has just died."""
    try:
        lines = Path(f"/proc/{pid}/limits").read_text().splitlines()
    except OSError:
        return None
    for line in lines:
        if line.startswith("Max open files"):
            soft = line.split()[3]
            return int(soft) if soft.isdigit() else None
    return None


def with_marker(marker: bytes) -> list[int]:
    """Live processes whose environment began with NAME=VALUE: a tree that cannot hide."""
    found: list[int] = []
    for process in descendants(0):
        try:
            environment = Path(f"/proc/{process.pid}/environ").read_bytes()
        except OSError:
            continue
        if marker in environment.split(b"\0"):
            found.append(process.pid)
    return found

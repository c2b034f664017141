"""Which processes of this host have a file open for writing, by inode, as /proc tells it.

The guard takes this file into tasks where Holdfast is not installed: it needs nothing but Python.
"""

from __future__ import annotations

import contextlib
import fcntl
import os

PROCESSES_MAX = 20_000
FILES_MAX = 100_000
WRITES = os.O_WRONLY | os.O_RDWR


def inode_of(fd: int) -> tuple[int, int] | None:
    """Device and number of what this process has open under this number, for writing."""
    try:
        if not fcntl.fcntl(fd, fcntl.F_GETFL) & WRITES:
            return None
        found = os.fstat(fd)
    except (OSError, OverflowError, ValueError):
        return None
    return found.st_dev, found.st_ino


def written_here(inode: tuple[int, int], *, but: int) -> list[int]:
    """Descriptors of this process that write this file, the given one left out."""
    return [fd for fd in map(int, _numbers("self") or []) if fd != but and inode_of(fd) == inode]


def is_written_by(pid: int, number: int) -> bool:
    """Whether a process has a file with this inode number open; where we may not look, it has."""
    names = _numbers(str(pid))
    return names is None or any(_writes(pid, name, number) for name in names)


def writers_of(known: os.stat_result, *, but: str) -> list[tuple[int, str]]:
    """Who writes it under which name; `but` is this process's own."""
    found = []
    for pid in _processes():
        for name in _numbers(str(pid)) or []:
            with contextlib.suppress(OSError):
                link = "/proc/%d/fd/%s" % (pid, name)  # noqa: UP031
                seen = os.stat(link)  # noqa: PTH116
                if (seen.st_dev, seen.st_ino) != (known.st_dev, known.st_ino):
                    continue
                path = os.readlink(link)  # noqa: PTH115
                is_own = pid == os.getpid() and path == but
                if not is_own and _writes(pid, name, known.st_ino):
                    found.append((pid, path))
    return found


def _numbers(process: str) -> list[str] | None:
    """Of its open files; none of a process that is gone, None where we may not look."""
    try:
        return os.listdir("/proc/%s/fd" % process)[:FILES_MAX]  # noqa: PTH208, UP031
    except FileNotFoundError:
        return []
    except OSError:
        return None


def _writes(pid: int, name: str, number: int) -> bool:
    try:
        if os.stat("/proc/%d/fd/%s" % (pid, name)).st_ino != number:  # noqa: PTH116, UP031
            return False
        with open("/proc/%d/fdinfo/%s" % (pid, name), encoding="ascii") as file:  # noqa: PTH123, UP031
            fields = dict(
                line.split(":", 1) for line in file.read(4096).splitlines() if ":" in line
            )
        return bool(int(fields.get("flags", "0"), 8) & WRITES)
    except (OSError, ValueError):
        return False


def _processes() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()][:PROCESSES_MAX]  # noqa: PTH208

"""Text logs that a task itself holds open for writing, read as they grow.

Only on this host's own file systems: a look at a dead file server would never end. A file that was
made after its task began is read from its beginning; what was in another before its task was seen
with it may be of an earlier run, and is not read.
"""

import contextlib
import ctypes
import os
import stat
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field

from holdfast.model.pattern import Pattern
from holdfast.probes import LOCAL, is_written, mount_of

FILES_MAX = 8  # of one task
PIECE_BYTES_MAX = 1 << 16  # of one file in one look; of more, the end
LINE_BYTES_MAX = 4_096
COARSE_S = 0.05  # a file system's clock goes in ticks of the kernel
_AT_EMPTY_PATH, _STATX_BTIME = 0x1000, 0x800
_NAME = Pattern(r"(?i)\.(?:log|txt|out|err)(?:[.-]\d+)?$")

Inode = tuple[int, int]


@dataclass(slots=True)
class OwnLog:
    """One file, held open by us, too, so that its last words can be read after the task's end."""

    path: str
    fd: int
    offset: int
    is_text: bool = True
    rest: bytes = b""  # half a line

    def new_lines(self) -> list[str]:
        """The whole lines that were added; of too much, those at its end."""
        size = os.fstat(self.fd).st_size
        if size < self.offset:  # it was cut, as by a rotation that copies
            self.offset, self.rest = 0, b""
        if size - self.offset > PIECE_BYTES_MAX:
            self.offset, self.rest = size - PIECE_BYTES_MAX, b""
        piece = os.pread(self.fd, size - self.offset, self.offset)
        self.offset += len(piece)
        self.is_text = self.is_text and b"\0" not in piece
        *whole, rest = (self.rest + piece).split(b"\n")
        self.rest = rest[:LINE_BYTES_MAX]
        return [line[:LINE_BYTES_MAX].decode(errors="replace") for line in whole]

    def close(self) -> None:
        os.close(self.fd)


@dataclass(slots=True)
class OwnLogs:
    """Those of one task."""

    began_unix_s: float  # the task: what was made later is all its own
    _known: dict[Inode, OwnLog] = field(default_factory=dict)
    _refused: set[str] = field(default_factory=set)  # paths on a file system that may not answer

    def find(
        self, pid: int, open_now: Iterable[tuple[str, str]], streams: Collection[Inode]
    ) -> None:
        """Look for new ones of a process; `streams` are its output, which is read anyway."""
        for number, path in open_now:
            if len(self._known) < FILES_MAX and path.startswith("/") and _NAME.search(path):
                self._see(pid, number, path, streams)

    def texts(self) -> Iterator[OwnLog]:
        return (log for log in self._known.values() if log.is_text)

    def close(self) -> None:
        for log in self._known.values():
            log.close()
        self._known.clear()

    def _see(self, pid: int, number: str, path: str, streams: Collection[Inode]) -> None:
        if path in self._refused or not is_written(pid, number):
            return
        mount = mount_of(path)
        if mount is None or mount.kind not in LOCAL:
            self._refused = {*self._refused, path} if len(self._refused) < FILES_MAX else {path}
            return
        with contextlib.suppress(OSError):
            fd = os.open(f"/proc/{pid}/fd/{number}", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            found = os.fstat(fd)
            inode = (found.st_dev, found.st_ino)
            if inode in streams or inode in self._known or not stat.S_ISREG(found.st_mode):
                os.close(fd)
            else:
                born_s = _born_unix_s(fd)
                is_new = born_s is not None and born_s >= self.began_unix_s - COARSE_S
                self._known[inode] = OwnLog(path, fd, 0 if is_new else found.st_size)


class _Statx(ctypes.Structure):
    """The kernel's struct statx: what is asked of it, and room for the rest."""

    _fields_ = (
        ("mask", ctypes.c_uint32),
        ("before", ctypes.c_byte * 76),
        ("born_s", ctypes.c_int64),
        ("born_ns", ctypes.c_uint32),
        ("rest", ctypes.c_byte * 164),
    )


def _born_unix_s(fd: int) -> float | None:
    """When a file was made; None: its file system does not tell, or nobody can ask it."""
    found = _Statx()
    try:
        statx = ctypes.CDLL(None).statx
    except (AttributeError, OSError):
        return None
    if statx(fd, b"", _AT_EMPTY_PATH, _STATX_BTIME, ctypes.byref(found)) != 0:
        return None
    return found.born_s + found.born_ns / 1e9 if found.mask & _STATX_BTIME else None

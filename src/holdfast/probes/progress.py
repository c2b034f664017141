"""What a task leaves behind as it goes on: new output, checkpoints, event files.

Files are looked at by name and size only, in directories where the task's own process has such a
file open, and only on this host's own file systems: a look at a dead file server would never end.
"""

import contextlib
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice

from holdfast.model.pattern import Pattern
from holdfast.probes import LOCAL, mount_of

PIECE_BYTES_MAX = 8_192
FOLDERS_MAX = 4
NAMES_MAX = 1_000
_EVENTS = "events.out.tfevents."
_CHECKPOINT = Pattern(r"ckpt[^/]*-(\d{1,12})\.index$")
_PARTS = Pattern(r"ckpt[^/]*_temp/[^/]*$")  # where the parts of a checkpoint are written first
_MARKS = (b"\n", b"\r", b"\b")


@dataclass(slots=True)
class Output:
    """The ends of a task's streams: each look gives what is new, from where a line begins."""

    _offsets: dict[int, int] = field(default_factory=dict)
    _sizes: dict[int, int] = field(default_factory=dict)

    def new(self, streams: Mapping[str, int]) -> list[bytes]:
        """At most the last 8 KiB of each stream that grew; nothing of one that is gone."""
        return [piece for fd in streams.values() if (piece := self._new(fd))]

    def _new(self, fd: int) -> bytes:
        try:
            size = os.fstat(fd).st_size
            if size == self._sizes.get(fd, 0):
                return b""
            offset = min(self._offsets.get(fd, 0), size)
            start = max(offset, size - PIECE_BYTES_MAX)
            piece = os.pread(fd, size - start, start)
        except OSError:
            return b""
        self._sizes[fd] = size
        # Half a line is read again with its other half.
        self._offsets[fd] = start + 1 + max(piece.rfind(mark) for mark in _MARKS)
        return piece if start == offset else piece[_first_line(piece) :]


def _first_line(piece: bytes) -> int:
    """Where the first whole line of a piece begins; its end, if there is none."""
    ends = [end for mark in _MARKS if (end := piece.find(mark)) >= 0]
    return min(ends, default=len(piece))


@dataclass(frozen=True, slots=True)
class Left:
    """What lies in the directories that a task writes to."""

    checkpoint: int = -1  # the step of its newest one
    event_bytes: int = 0


@dataclass(slots=True)
class Traces:
    """The directories of one task, learned from the files that it had open."""

    folders: list[str] = field(default_factory=list)

    def look(self, open_now: Iterable[tuple[str, str]]) -> Left:
        """`open_now`: descriptors and paths. To read them all is not for every second."""
        for _, path in open_now:
            folder = _folder_of(path)
            is_new = folder and folder not in self.folders and len(self.folders) < FOLDERS_MAX
            if is_new and _is_local(folder):
                self.folders.append(folder)
        found = [_left_in(folder) for folder in self.folders]
        return Left(
            max((left.checkpoint for left in found), default=-1),
            sum(left.event_bytes for left in found),
        )


def _folder_of(path: str) -> str:
    """The directory of a log for TensorBoard, or of a checkpoint that is being written."""
    folder, _, name = path.rpartition("/")
    if not folder.startswith("/"):
        return ""
    if name.startswith(_EVENTS):
        return folder
    return folder.rpartition("/")[0] if _PARTS.search(path) else ""


def _is_local(folder: str) -> bool:
    mount = mount_of(folder)
    return mount is not None and mount.kind in LOCAL


def _left_in(folder: str) -> Left:
    """Names and sizes. The directory must still be where its path says, behind no link."""
    try:
        fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return Left()
    try:
        if os.readlink(f"/proc/self/fd/{fd}") != folder:  # noqa: PTH115 - no Path needed
            return Left()
        with os.scandir(fd) as entries:
            return _counted(islice(entries, NAMES_MAX))
    except OSError:
        return Left()
    finally:
        os.close(fd)


def _counted(entries: Iterator["os.DirEntry[str]"]) -> Left:
    checkpoint, event_bytes = -1, 0
    for entry in entries:
        if entry.name.startswith(_EVENTS):
            with contextlib.suppress(OSError):
                found = entry.stat(follow_symlinks=False)
                event_bytes += found.st_size if stat.S_ISREG(found.st_mode) else 0
        elif entry.name.endswith(".index") and (numbered := _CHECKPOINT.search(entry.name)):
            checkpoint = max(checkpoint, int(numbered.group(1)))
    return Left(checkpoint, event_bytes)

"""What a task leaves behind as it goes on: new output, checkpoints, event files.

Files are looked at by name and size only, in directories where the task's own process has such a
file open, and only on this host's own file systems: a look at a dead file server would never end.
"""

import contextlib
import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice

from holdfast.model.pattern import Pattern
from holdfast.probes import LOCAL, is_written, mount_of, open_files

PIECE_BYTES_MAX = 8_192
FOLDERS_MAX = 4
WRITTEN_MAX = 16
NAMES_MAX = 1_000
_EVENTS = "events.out.tfevents."
_CHECKPOINT = Pattern(r"ckpt[^/]*-(\d{1,12})\.index$")
_PARTS = Pattern(r"ckpt[^/]*_temp/[^/]*$")  # where the parts of a checkpoint are written first
# One part of one: whoever writes it takes itself for the only writer of this checkpoint.
_WHOLE = Pattern(r"_temp/part-00000-of-00001\.")
_NO_WRITER = (".profile-empty", " (deleted)")
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


@dataclass(frozen=True, slots=True)
class Written:
    """A folder into which a task writes alone, as it thinks."""

    what: str  # summaries, checkpoints
    folder: str
    server: str  # server:/export, of a file system that other hosts may have, too; empty: local


@dataclass(slots=True)
class Traces:
    """The directories of one task, learned from the files that it had open."""

    folders: list[str] = field(default_factory=list)
    written: list[Written] = field(default_factory=list)

    def look(self, pid: int) -> Left:
        """Costs a look at every open file: not for every second."""
        for number, path in open_files(pid):
            self._see_written(pid, number, path)
            folder = _folder_of(path)
            is_new = folder and folder not in self.folders and len(self.folders) < FOLDERS_MAX
            if is_new and _is_local(folder):
                self.folders.append(folder)
        found = [_left_in(folder) for folder in self.folders]
        return Left(
            max((left.checkpoint for left in found), default=-1),
            sum(left.event_bytes for left in found),
        )

    def _see_written(self, pid: int, number: str, path: str) -> None:
        what, folder = _written_at(path)
        known = any((one.what, one.folder) == (what, folder) for one in self.written)
        if not what or known or len(self.written) >= WRITTEN_MAX or not is_written(pid, number):
            return
        mount = mount_of(folder)
        if mount is not None:
            server = "" if mount.kind in LOCAL else mount.source
            self.written.append(Written(what, folder, server))


def _written_at(path: str) -> tuple[str, str]:
    """What a file open for writing would be a part of, and in which folder; or nothing of ours."""
    folder, _, name = path.rpartition("/")
    if name.startswith(_EVENTS) and not name.endswith(_NO_WRITER):
        return "summaries", folder
    return ("checkpoints", folder.rpartition("/")[0]) if _WHOLE.search(path) else ("", "")


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

"""How much room is left where a job writes."""

import os
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass

from holdfast.model.mounts import mounts_below
from holdfast.probes import LOCAL, is_written, mountinfo

ANSWER_S_MAX = 10.0
FILES_MAX = 512  # open files of a process that are looked at


@dataclass(frozen=True, slots=True)
class Room:
    free_bytes: int
    total_bytes: int
    free_inodes: int  # -1 where the file system does not count them
    total_inodes: int = -1


def room_at(path: str) -> Room | None:
    """For a user without special rights, as a task would find it."""
    try:
        found = os.statvfs(path)
    except OSError:
        return None
    return Room(
        free_bytes=found.f_bavail * found.f_frsize,
        total_bytes=found.f_blocks * found.f_frsize,
        free_inodes=found.f_favail if found.f_files else -1,
        total_inodes=found.f_files or -1,
    )


def disks_below(pid: int) -> list[str]:
    """Local file systems that are mounted below the folder in which a process works."""
    try:
        own = os.readlink(f"/proc/{pid}/cwd")  # noqa: PTH115 - as every look
    except OSError:
        return []
    mounts = mounts_below(mountinfo(), own) if own != "/" else []
    return [mount.point for mount in mounts if mount.kind in LOCAL]


class RoomAsked:
    """The question for the room of a path that may hang: asked now, answered at a later look.

    Another process asks, so that only that one waits. One that the kernel does not let go of,
    not even killed, is left alone.
    """

    def __init__(self, path: str) -> None:
        self._asked_s = time.monotonic()
        self._process = subprocess.Popen(
            ("stat", "-f", "-c", "%a %b %S %d %c", "--", path),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    @property
    def waited_s(self) -> float:
        return time.monotonic() - self._asked_s

    def is_answered(self) -> bool:
        """Whether it is over: with an answer, an error, or because it took too long."""
        if self._process.poll() is None and self.waited_s > ANSWER_S_MAX:
            self._process.kill()
        return self._process.poll() is not None

    def answer(self) -> Room | None:
        """Only of one that is over."""
        assert self._process.stdout is not None
        with self._process.stdout as stream:
            words = stream.read(200).split()
        if len(words) != 5 or not all(word.isdigit() for word in words):  # noqa: PLR2004
            return None
        free, blocks, block_bytes, free_inodes, inodes = map(int, words)
        return Room(
            free_bytes=free * block_bytes,
            total_bytes=blocks * block_bytes,
            free_inodes=free_inodes if inodes else -1,
            total_inodes=inodes or -1,
        )


def written_folders(pid: int) -> Iterator[str]:
    """Where a process works, and where the files lie that it has open for writing."""
    cwd = _link(f"/proc/{pid}/cwd")
    if cwd.startswith("/"):
        yield cwd
    try:
        names = os.listdir(f"/proc/{pid}/fd")[:FILES_MAX]  # noqa: PTH208 - read, often
    except OSError:
        return
    for name in names:
        target = _link(f"/proc/{pid}/fd/{name}")
        elsewhere = target.startswith("/") and not target.startswith(("/dev/", "/proc/", "/sys/"))
        if elsewhere and is_written(pid, name):
            yield os.path.dirname(target)  # noqa: PTH120 - a name, never a look at it


def _link(path: str) -> str:
    try:
        return os.readlink(path)  # noqa: PTH115
    except OSError:
        return ""

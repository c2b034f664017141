"""One log file: begun whole under a lock, appended to, and ended or taken back."""

import fcntl
import os
from collections.abc import Sequence
from pathlib import Path

from holdfast.rows import ahead
from holdfast.rows.layout import log_name, sync_folder, temporary_name
from holdfast.rows.sync import GroupSync

IOVECS_MAX = 512


class Log:
    """An open log. `good_bytes` is where its last whole group of frames ends.

    A write that ends behind `ahead_bytes` goes through `go_ahead` first. Not thread-safe, but
    for `sync`: its writer holds a lock.
    """

    __slots__ = ("__weakref__", "ahead_bytes", "fd", "good_bytes", "number", "path", "sync")

    def __init__(self, path: Path, number: int, fd: int, *, is_ahead: bool) -> None:
        self.path = path
        self.number = number
        self.fd = fd
        self.good_bytes = 0
        self.ahead_bytes = 0 if is_ahead else ahead.NEVER
        self.sync = GroupSync(fd, lambda: self.good_bytes)

    @classmethod
    def begin(
        cls, folder: Path, number: int, first: bytes, *, on_disk: bool, is_ahead: bool
    ) -> "Log":
        """A new log that begins with these frames; nobody sees it before it is locked and whole.

        Seen unlocked, it would look like the log of a writer that is gone.
        """
        path = folder / log_name(number)
        temporary = folder / temporary_name(path.name)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        fd = os.open(temporary, flags, 0o666)
        log = cls(path, number, fd, is_ahead=is_ahead)
        try:
            _lock(fd)
            log.write([first], 0)
            log.good_bytes = len(first)
            if on_disk:
                log.sync.wait(len(first))
            temporary.rename(path)
            if on_disk:
                sync_folder(folder)
        except BaseException:
            os.close(fd)
            temporary.unlink(missing_ok=True)
            raise
        return log

    def write(self, pieces: Sequence[bytes], at: int) -> int:
        """All of these bytes, in as many calls as the system needs; returns where they end."""
        for start in range(0, len(pieces), IOVECS_MAX):
            some = pieces[start : start + IOVECS_MAX]
            upto = at + sum(map(len, some))
            if upto > self.ahead_bytes:
                self.go_ahead(at, upto)
            self.complete(some, at, os.pwritev(self.fd, some, at))
            at = upto
        return at

    def go_ahead(self, at: int, upto: int) -> None:
        """Before a write from here to there."""
        self.ahead_bytes = ahead.go_ahead(self.fd, self.ahead_bytes, at, upto)

    @property
    def has_filler(self) -> bool:
        """Whether the file is longer than what was written."""
        return self.good_bytes < self.ahead_bytes < ahead.NEVER

    def complete(self, pieces: Sequence[bytes], at: int, done: int) -> None:
        """Writes what a short write left over."""
        if done == sum(map(len, pieces)):
            return
        rest = memoryview(b"".join(pieces))[done:]
        while rest:
            at, done = at + done, os.pwrite(self.fd, rest, at + done)
            rest = rest[done:]

    def take_back(self, to_bytes: int) -> None:
        """Cuts off what was written behind this place."""
        self.good_bytes = to_bytes
        os.ftruncate(self.fd, to_bytes)

    def is_gone(self) -> bool:
        """Whether the file was removed under us: what is written now would be nowhere."""
        try:
            return os.fstat(self.fd).st_nlink == 0
        except OSError:  # on a network file system, removed by another host: ESTALE
            return True

    def close(self) -> None:
        """Drops the lock, too. Idempotent."""
        self.sync.retire()
        fd, self.fd = self.fd, -1
        if fd >= 0:
            os.close(fd)


def _lock(fd: int) -> None:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        # No locks on this file system: then nobody can take ours for free, either, and the
        # log counts as open until it has ended.
        return

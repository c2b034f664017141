"""Large writes past the page cache: to copy bytes there that nobody reads soon takes a core."""

import errno
import os
from concurrent.futures import Future, wait
from pathlib import Path
from typing import Final

from holdfast.rows import storage

BLOCK_BYTES: Final = 4096  # what disks want such writes to be multiples of
_LEAST_BYTES: Final = 1 << 20


class DirectFile:
    """A file that is being written; through the cache where its file system wants it so.

    `writes` are those that were begun in the background.
    """

    def __init__(self, path: Path) -> None:
        self.writes: list[Future[None]] = []
        self._fd = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
        self._direct = _opened(path)
        self._is_known = True  # until the file system says that it cannot do it

    def write(self, content: memoryview, offset: int) -> None:
        """All of it; past the cache if it is large, and begins on a block in memory and file."""
        whole = len(content) - len(content) % BLOCK_BYTES
        if (
            self._direct is not None
            and self._is_known
            and whole >= _LEAST_BYTES
            and offset % BLOCK_BYTES == 0
        ):
            done = self._write_past(self._direct, content[:whole], offset)
            content, offset = content[done:], offset + done
        storage.write_all(self._fd, content, offset)

    def finish(self) -> None:
        """Closes it once all is written; an error of that is raised here."""
        try:
            wait(self.writes)
            for written in self.writes:
                written.result()
        finally:
            for fd in (self._fd, self._direct):
                if fd is not None:
                    os.close(fd)

    def _write_past(self, direct: int, content: memoryview, offset: int) -> int:
        """How much of it was written."""
        done = 0
        try:
            while done < len(content) and done % BLOCK_BYTES == 0:
                done += os.pwrite(direct, content[done:], offset + done)
        except OSError as error:
            if error.errno != errno.EINVAL:
                raise
            self._is_known = False
        return done


def _opened(path: Path) -> int | None:
    try:
        return os.open(path, os.O_WRONLY | os.O_DIRECT | os.O_CLOEXEC)
    except OSError:
        return None

"""Large writes past the page cache: to copy bytes there that nobody reads soon takes a core."""

import errno
import os
from pathlib import Path
from typing import Final

from holdfast.rows import storage

BLOCK_BYTES: Final = 4096  # what disks want such writes to be multiples of
_LEAST_BYTES: Final = 1 << 20


class DirectFile:
    """A file that is being written; through the cache where its file system wants it so."""

    def __init__(self, path: Path, fd: int) -> None:
        self._fd = fd
        self._direct = _opened(path)

    def write(self, content: memoryview, offset: int) -> None:
        """All of it; past the cache if it is large, and begins on a block in memory and file."""
        whole = len(content) - len(content) % BLOCK_BYTES
        if self._direct is not None and whole >= _LEAST_BYTES and offset % BLOCK_BYTES == 0:
            done = self._write_past(self._direct, content[:whole], offset)
            content, offset = content[done:], offset + done
        storage.write_all(self._fd, content, offset)

    def close(self) -> None:
        if self._direct is not None:
            os.close(self._direct)
            self._direct = None

    def _write_past(self, direct: int, content: memoryview, offset: int) -> int:
        """How much of it was written."""
        done = 0
        try:
            while done < len(content) and done % BLOCK_BYTES == 0:
                done += os.pwrite(direct, content[done:], offset + done)
        except OSError as error:
            if error.errno != errno.EINVAL:
                raise
            self.close()
        return done


def _opened(path: Path) -> int | None:
    try:
        return os.open(path, os.O_WRONLY | os.O_DIRECT | os.O_CLOEXEC)
    except OSError:
        return None

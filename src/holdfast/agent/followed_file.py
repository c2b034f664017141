"""A file that a process is still writing, read as if it were a pipe."""

import io
import math
import os
import select
from collections.abc import Mapping
from typing import IO, Any

LOOK_EVERY_S = 0.02


class FollowedFile(io.RawIOBase):
    """A growing file: its end is the end of the process that writes it."""

    def __init__(self, fd: int, end_fd: int) -> None:
        self._fd = os.dup(fd)
        self._end_fd = os.dup(end_fd)
        self._offset = 0

    def readable(self) -> bool:
        return True

    def fileno(self) -> int:
        raise io.UnsupportedOperation(
            "what this process writes goes to a file, and not through a pipe, so it has no"
            " descriptor to wait for or to hand to another process: read it here, or give stdout"
            " the writing end of os.pipe()"
        )

    def readinto(self, buffer: Any) -> int:
        while True:
            ended = bool(ready_fds({self._end_fd: select.POLLIN}, 0))
            piece = os.pread(self._fd, len(buffer), self._offset)
            if piece or ended:
                self._offset += len(piece)
                buffer[: len(piece)] = piece
                return len(piece)
            ready_fds({self._end_fd: select.POLLIN}, LOOK_EVERY_S)

    def close(self) -> None:
        if not self.closed:
            os.close(self._fd)
            os.close(self._end_fd)
        super().close()


def open_followed(
    fd: int, end_fd: int, *, bufsize: int, encoding: str | None, errors: str | None
) -> IO[Any]:
    """As Popen opens the end of a pipe: buffered or not, as text or as bytes."""
    raw: Any = FollowedFile(fd, end_fd)
    if bufsize:
        # Line by line is for those who write; to read so would be to read slowly.
        raw = io.BufferedReader(raw, bufsize if bufsize > 1 else io.DEFAULT_BUFFER_SIZE)
    if encoding is None:
        return raw  # type: ignore[no-any-return]
    return io.TextIOWrapper(raw, encoding=encoding, errors=errors)


def end_watch(pid: int) -> int:
    """A descriptor that becomes readable when a child of ours ends."""
    try:
        return os.pidfd_open(pid)
    except ProcessLookupError:
        # It is over, and nobody was to wait for it: where SIGCHLD is ignored, the kernel does.
        reader, writer = os.pipe()
        os.close(writer)
        return reader


def ready_fds(wanted: Mapping[int, int], wait_s: float | None) -> set[int]:
    """Which descriptors are ready. Not select(): that knows no descriptor above 1023."""
    poll = select.poll()
    for fd, what in wanted.items():
        poll.register(fd, what)
    wait_ms = None if wait_s is None else math.ceil(max(0.0, wait_s) * 1000)
    return {fd for fd, _ in poll.poll(wait_ms)}

"""Bytes to a terminal or a pipe that may stop taking them at any time, for ever."""

import os
import select
import stat
from contextlib import suppress
from typing import Final

_SPIN_WAIT_S: Final = 0.02
_WAKES_MAX: Final = 4096


class Outlet:
    """One place to write to, without ever waiting longer than asked.

    O_NONBLOCK belongs to the open file description, which our parent shell shares with us: left
    there, it would break the shell after we are gone. So we open the same terminal or pipe once
    more. Where that is refused (a socket, a terminal of another user after sudo), we set the flag
    for the moment of each write only.
    """

    def __init__(self, fd: int) -> None:
        self._own_fd = _reopened(fd)
        self._fd = fd if self._own_fd is None else self._own_fd
        self._borrowed = self._own_fd is None and os.get_blocking(fd)
        self._wake_reader, self._wake_writer = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._poll = select.poll()
        self._poll.register(self._fd, select.POLLOUT)
        self._poll.register(self._wake_reader, select.POLLIN)
        self._refused = False

    def write(self, some: memoryview) -> int:
        """How many bytes were taken at once, possibly none. OSError when nobody listens."""
        try:
            if self._borrowed:
                os.set_blocking(self._fd, False)
            taken = os.write(self._fd, some)
        except BlockingIOError:
            taken = 0
        finally:
            if self._borrowed:
                os.set_blocking(self._fd, True)
        self._refused = taken == 0
        return taken

    def wait(self, wait_s: float) -> None:
        """Until it takes bytes again, or `wake` is called, or the time is over."""
        ready = self._poll.poll(max(0, int(wait_s * 1000)))
        if any(fd == self._wake_reader for fd, _ in ready):
            with suppress(BlockingIOError):
                os.read(self._wake_reader, _WAKES_MAX)
        elif ready and self._refused:
            # A terminal with room for one byte polls writable, and still refuses "\r\n".
            select.select([self._wake_reader], [], [], min(_SPIN_WAIT_S, max(0.0, wait_s)))

    def wake(self) -> None:
        """End a `wait` in another thread."""
        with suppress(BlockingIOError):
            os.write(self._wake_writer, b"!")

    def close(self) -> None:
        for fd in (self._own_fd, self._wake_reader, self._wake_writer):
            if fd is not None:
                os.close(fd)


def _reopened(fd: int) -> int | None:
    """The same terminal or pipe under a description of our own; None when it cannot be."""
    mode = os.fstat(fd).st_mode
    if stat.S_ISCHR(mode) or stat.S_ISFIFO(mode):  # a file would start again at offset 0
        with suppress(OSError):
            flags = os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
            return os.open(f"/proc/self/fd/{fd}", flags)
    return None

"""How long the way to a server and back takes, as the kernel times it while it connects."""

import errno
import select
import socket
import struct

ANSWER_S_MAX = 3.0
_TCP_INFO_BYTES = 104
_RTT = 15  # which of the 32-bit numbers after the first eight bytes; in microseconds
_UNDER_WAY = frozenset({0, errno.EINPROGRESS})


class RoundTrip:
    """One connection: asked for now, its time read at a later look. Nothing is sent over it."""

    def __init__(self, ip: str, port: int, at_s: float) -> None:
        """Only numbers: a name could make us wait."""
        family = socket.AF_INET6 if ":" in ip else socket.AF_INET
        self._socket = socket.socket(family, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
        self._asked_s = at_s
        self.is_over = False
        self.took_s: float | None = None  # None: it got no answer, or had to ask again
        if self._socket.connect_ex((ip, port)) not in _UNDER_WAY:
            self._end()

    def look(self, at_s: float) -> None:
        """Whether it has its answer by now."""
        poll = select.poll()
        poll.register(self._socket, select.POLLOUT)
        if not poll.poll(0):
            if at_s - self._asked_s > ANSWER_S_MAX:
                self._end()
            return
        if self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) == 0:
            told = self._socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _TCP_INFO_BYTES)
            numbers = struct.unpack(f"{(len(told) - 8) // 4}I", told[8:])
            # The kernel times no segment that it had to send again.
            self.took_s = numbers[_RTT] / 1e6 or None
        self._end()

    def _end(self) -> None:
        self._socket.close()
        self.is_over = True

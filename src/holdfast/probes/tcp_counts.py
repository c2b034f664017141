"""What a TCP connection has carried so far, as the kernel answers over netlink: one at a time."""

import os
import socket
import struct
from typing import NamedTuple, Self

_DIAG_FAMILY, _BY_FAMILY, _TCP, _INFO = 4, 20, 6, 2  # NETLINK_SOCK_DIAG, SOCK_DIAG_BY_FAMILY
_ANSWER_BYTES_MAX = 16_384
_HEAD_BYTES, _MESSAGE_BYTES = 16, 72  # of netlink, and of inet_diag before its attributes
_ATTRIBUTE_BYTES = 4
_BYTES_AT, _BUSY_AT, _INFO_BYTES_MIN = 120, 168, 192  # in tcp_info, since Linux 4.10
_US_PER_S = 1e6
_NUMBER_MAX = 0xFFFFFFFF
_ANY, _EVERY_STATE, _NO_COOKIE = 0, 0xFFFFFFFF, 0xFFFFFFFF


class TcpCounts(NamedTuple):
    """Of our end of a connection, since it was made."""

    sent_bytes: int  # and acknowledged
    received_bytes: int
    # It had something to send, and neither the other end's room nor its own buffer was short.
    network_s: float


class TcpAsked:
    """Asks the kernel for connections of this process's own network namespace.

    An answer costs 10 microseconds: the kernel finds the connection by its two addresses, and
    need not walk through all of them. `blind` says why there are no answers.
    """

    def __init__(self) -> None:
        self.blind = ""
        self._socket: socket.socket | None = None
        self._number = 0  # of the last question: an answer has the same
        try:
            self._socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _DIAG_FAMILY)
            self._socket.settimeout(0)
            self.namespace = os.readlink("/proc/self/ns/net")  # noqa: PTH115 - a name, no path
        except OSError as error:
            self.blind, self.namespace = f"the kernel tells nothing of connections: {error}", ""

    def counts(self, local: str, remote: str) -> TcpCounts | None:
        """Both as 10.0.0.7:2222 or [::1]:2222. None: there is no such connection, or no answer."""
        if self._socket is None or self.blind:
            return None
        try:
            self._number = (self._number + 1) & _NUMBER_MAX
            self._socket.send(_question(local, remote, self._number))
            answer = self._socket.recv(_ANSWER_BYTES_MAX)
        except BlockingIOError:
            return None
        except OSError as error:
            self.blind = f"the kernel tells nothing of connections: {error}"
            return None
        return _read(answer, self._number)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._socket is not None:
            self._socket.close()


def _question(local: str, remote: str, number: int) -> bytes:
    (here, here_port), (there, there_port) = _place(local), _place(remote)
    family = socket.AF_INET if len(here) == _ATTRIBUTE_BYTES else socket.AF_INET6
    ports = struct.pack("!HH", here_port, there_port)
    ends = ports + here.ljust(16, b"\0") + there.ljust(16, b"\0")
    what = struct.pack("=BBBBI", family, _TCP, 1 << (_INFO - 1), 0, _EVERY_STATE)
    body = what + ends + struct.pack("=III", _ANY, _NO_COOKIE, _NO_COOKIE)
    return struct.pack("=IHHII", _HEAD_BYTES + len(body), _BY_FAMILY, 1, number, 0) + body


def _place(address: str) -> tuple[bytes, int]:
    host, _, port = address.rpartition(":")
    family = socket.AF_INET6 if host.startswith("[") else socket.AF_INET
    return socket.inet_pton(family, host.strip("[]")), int(port)


def _read(answer: bytes, number: int) -> TcpCounts | None:
    if len(answer) < _HEAD_BYTES:
        return None
    _, kind, _, answers, _ = struct.unpack_from("=IHHII", answer)
    if kind != _BY_FAMILY or answers != number:
        return None  # an error: it is closed
    at = _HEAD_BYTES + _MESSAGE_BYTES
    while at + _ATTRIBUTE_BYTES <= len(answer):
        size, kind = struct.unpack_from("=HH", answer, at)
        if kind == _INFO:
            return _counts(answer[at + _ATTRIBUTE_BYTES : at + size])
        at += max(_ATTRIBUTE_BYTES, size + 3 & ~3)
    return None


def _counts(info: bytes) -> TcpCounts | None:
    if len(info) < _INFO_BYTES_MIN:
        return None  # an older kernel
    sent, received = struct.unpack_from("=QQ", info, _BYTES_AT)
    busy_us, no_room_us, no_buffer_us = struct.unpack_from("=QQQ", info, _BUSY_AT)
    network_us = max(0, busy_us - no_room_us - no_buffer_us)
    return TcpCounts(sent, received, network_us / _US_PER_S)

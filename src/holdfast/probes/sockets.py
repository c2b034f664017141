"""The TCP sockets of some processes, straight from /proc."""

import ipaddress
import os
import sys
from collections.abc import Iterable
from dataclasses import dataclass

TABLE_BYTES_MAX = 16 << 20
SOCKETS_MAX = 4_096
_ESTABLISHED, _SYN_SENT, _LISTEN = "01", "02", "0A"
_FIELDS_MIN = 10  # sl local remote state queues timer retransmits uid time-out inode


@dataclass(frozen=True, slots=True)
class Sockets:
    """As SocketsSeen has them."""

    listening: tuple[int, ...] = ()  # ports
    connected: tuple[str, ...] = ()  # addresses of the other end
    trying: tuple[str, ...] = ()  # asked for a connection, and no answer yet


def sockets_of(pids: Iterable[int]) -> Sockets:
    """Their sockets, as the network namespace of the first of them has them."""
    known = list(pids)
    inodes = {inode for pid in known for inode in _socket_inodes(pid)}
    if not inodes:
        return Sockets()
    listening: set[int] = set()
    connected: set[str] = set()
    trying: set[str] = set()
    for table in ("tcp", "tcp6"):
        for fields in _table(f"/proc/{known[0]}/net/{table}"):
            if fields[9] not in inodes:
                continue
            if fields[3] == _LISTEN:
                listening.add(int(fields[1].rpartition(":")[2], 16))
            elif fields[3] == _ESTABLISHED:
                connected.add(_address(fields[2]))
            elif fields[3] == _SYN_SENT:
                trying.add(_address(fields[2]))
    return Sockets(
        listening=tuple(sorted(listening)[:SOCKETS_MAX]),
        connected=tuple(sorted(connected)[:SOCKETS_MAX]),
        trying=tuple(sorted(trying)[:SOCKETS_MAX]),
    )


def _socket_inodes(pid: int) -> Iterable[str]:
    folder = f"/proc/{pid}/fd"
    try:
        numbers = os.listdir(folder)  # noqa: PTH208 - a Path for each costs more than the look
    except OSError:
        return
    for number in numbers:
        try:
            target = os.readlink(f"{folder}/{number}")  # noqa: PTH115 - as above
        except OSError:
            continue
        if target.startswith("socket:["):
            yield target[len("socket:[") : -1]


def _table(path: str) -> Iterable[list[str]]:
    try:
        with open(path) as file:  # noqa: PTH123 - as above
            lines = file.read(TABLE_BYTES_MAX).splitlines()[1:]
    except OSError:
        return
    for line in lines:
        fields = line.split()
        if len(fields) >= _FIELDS_MIN:
            yield fields


def _address(text: str) -> str:
    """ADDRESS:PORT in the kernel's hex, whose address is a row of words in our byte order."""
    words, _, port = text.partition(":")
    raw = bytes.fromhex(words)
    if sys.byteorder == "little":
        raw = b"".join(raw[start : start + 4][::-1] for start in range(0, len(raw), 4))
    ip = ipaddress.ip_address(raw)
    mapped = ip.ipv4_mapped if isinstance(ip, ipaddress.IPv6Address) else None
    if mapped is not None:
        ip = mapped
    host = f"[{ip}]" if isinstance(ip, ipaddress.IPv6Address) else str(ip)
    return f"{host}:{int(port, 16)}"

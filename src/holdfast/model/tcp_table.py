"""The kernel's tables of TCP sockets, /proc/PID/net/tcp and tcp6, read into rows."""

import ipaddress
import sys
from collections.abc import Container, Iterator
from dataclasses import dataclass
from functools import lru_cache

ESTABLISHED, SYN_SENT, CLOSE_WAIT, LISTEN = "01", "02", "08", "0A"
ADDRESSES_KEPT_MAX = 4_096
# sl local remote state tx_queue:rx_queue tr:tm->when retrnsmt uid time-out inode
_FIELDS_MIN = 10
_WORD_BYTES = 4


@dataclass(frozen=True, slots=True)
class TcpRow:
    """One socket. Addresses are written as people do: 10.0.0.7:2222, [::1]:2222."""

    state: str  # as the kernel writes it: one of those above, or another
    local: str
    remote: str
    send_bytes: int  # written by the process, and not acknowledged
    recv_bytes: int  # arrived, and not read
    timer: int  # 0 none, 1 sends again, 2 keepalive, 4 asks whether the peer has room
    retransmits: int  # in a row, without an answer
    inode: str

    @property
    def port(self) -> int:
        return int(self.local.rpartition(":")[2])


def rows_in(text: str, inodes: Container[str]) -> Iterator[TcpRow]:
    """The sockets with these inodes; lines that are no rows are passed over."""
    for line in text.splitlines()[1:]:
        fields = line.split()
        if len(fields) >= _FIELDS_MIN and fields[9] in inodes:
            sent, _, arrived = fields[4].partition(":")
            yield TcpRow(
                state=fields[3],
                local=address_in(fields[1]),
                remote=address_in(fields[2]),
                send_bytes=int(sent, 16),
                recv_bytes=int(arrived, 16),
                timer=int(fields[5].partition(":")[0], 16),
                retransmits=int(fields[6], 16),
                inode=fields[9],
            )


@lru_cache(ADDRESSES_KEPT_MAX)
def address_in(text: str) -> str:
    """ADDRESS:PORT in the kernel's hex, whose address is a row of words in our byte order."""
    words, _, port = text.partition(":")
    raw = bytes.fromhex(words)
    ip = ipaddress.ip_address(
        b"".join(
            int.from_bytes(raw[start : start + _WORD_BYTES], sys.byteorder).to_bytes(_WORD_BYTES)
            for start in range(0, len(raw), _WORD_BYTES)
        )
    )
    if isinstance(ip, ipaddress.IPv6Address) and ip.ipv4_mapped is not None:
        ip = ip.ipv4_mapped
    host = f"[{ip}]" if isinstance(ip, ipaddress.IPv6Address) else str(ip)
    return f"{host}:{int(port, 16)}"

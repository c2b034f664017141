"""The ports and addresses of this host: whose they are, and who listens there."""

import errno
import ipaddress
import json
import socket
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from holdfast.model.address import HOST_LENGTH_MAX, Complaint, parse_address
from holdfast.model.cluster import TaskId
from holdfast.model.facts import AddressNotHere, Fact, PortHeld, ProbeBlind
from holdfast.probes import said_in_time

RESOLVER_WAIT_S = 2.0
IPS_MAX = 32
# The C library's resolver takes no time-out, so it runs where it may take its time.
_RESOLVE = """
import json, socket, sys
found = socket.getaddrinfo(sys.argv[1], None, type=socket.SOCK_STREAM)
print(json.dumps(sorted({entry[4][0] for entry in found})))
"""


@dataclass(frozen=True, slots=True)
class Holder:
    pid: int | None  # None: a process we may not look into
    command: str = ""
    user: str = ""


def holder_of(port: int) -> Holder | None:
    """The process that listens on a TCP port, or None when it is free.

    To find a process means to look into all of them, so that comes only after a cheap look
    whether anybody listens there at all.
    """
    if not _is_listened_on(port):
        return None
    import psutil  # noqa: PLC0415 - memory that a run in peace need not hold

    try:
        listening = [
            found
            for found in psutil.net_connections("tcp")
            if found.status == psutil.CONN_LISTEN and found.laddr and found.laddr.port == port
        ]
    except (psutil.Error, OSError):
        return None
    if not listening:
        return None
    pid = next((found.pid for found in listening if found.pid), None)
    if pid is None:
        return Holder(None)
    try:
        process = psutil.Process(pid)
        return Holder(pid, process.name(), process.username())
    except psutil.Error:
        return Holder(pid)


def _is_listened_on(port: int) -> bool:
    """Whether the kernel refuses us the port. Bound but not listening, we take no connection."""
    for family, address in ((socket.AF_INET, "0.0.0.0"), (socket.AF_INET6, "::")):
        try:
            with socket.socket(family, socket.SOCK_STREAM) as trial:
                trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                if family == socket.AF_INET6:
                    trial.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
                trial.bind((address, port))
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                return True
    return False


def own_port(address: str, task: TaskId, where: dict[str, Any]) -> Iterator[Fact]:
    """What would keep a task of this host from serving at its address, before it starts."""
    of_task = {**where, "task": task}
    place = parse_address(address)
    if isinstance(place, Complaint):
        return  # the definition itself is wrong, and whoever reads it says so
    ips = ips_of(place.host)
    if not ips:
        why = f"{place.host} cannot be resolved here within {RESOLVER_WAIT_S:g} s"
        yield ProbeBlind(probe=f"address of {task}", why=why, **of_task)
    elif not any(map(_is_own, ips)):
        yield AddressNotHere(address=address, ips=ips, **of_task)
    holder = holder_of(place.port)  # whatever the address: TensorFlow listens on all of this host's
    if holder is not None:
        yield PortHeld(
            port=place.port,
            pid=holder.pid,
            command=holder.command,
            user=holder.user,
            **of_task,
        )


def is_here(host: str) -> bool:
    """Whether a name or an address means this host."""
    return any(map(_is_own, ips_of(host)))


def ips_of(host: str) -> tuple[str, ...]:
    """What a name resolves to on this host, in bounded time; nothing when it does not."""
    bare = host.removeprefix("[").removesuffix("]")
    try:
        return (str(ipaddress.ip_address(bare)),)
    except ValueError:
        pass
    if not bare or len(bare) > HOST_LENGTH_MAX or "\0" in bare:
        return ()
    command = (sys.executable, "-I", "-S", "-c", _RESOLVE, bare)
    said = said_in_time(command, wait_s=RESOLVER_WAIT_S)
    return tuple(json.loads(said.out)[:IPS_MAX]) if said.code == 0 else ()


def _is_own(ip: str) -> bool:
    address = ipaddress.ip_address(ip.partition("%")[0])
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    address = mapped or address
    if address.is_loopback or address.is_unspecified:
        return True
    import psutil  # noqa: PLC0415 - memory that a run in peace need not hold

    return any(
        str(address) == found.address.partition("%")[0]
        for interface in psutil.net_if_addrs().values()
        for found in interface
    )

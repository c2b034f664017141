"""Who listens on a port of this host."""

import errno
import socket
from dataclasses import dataclass

import psutil


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

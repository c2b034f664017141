"""Who listens on a port of this host."""

from dataclasses import dataclass

import psutil


@dataclass(frozen=True, slots=True)
class Holder:
    pid: int | None  # None: a process we may not look into
    command: str = ""
    user: str = ""


def holder_of(port: int) -> Holder | None:
    """The process that listens on a TCP port, or None when it is free."""
    try:
        listening = [
            socket
            for socket in psutil.net_connections("tcp")
            if socket.status == psutil.CONN_LISTEN and socket.laddr and socket.laddr.port == port
        ]
    except (psutil.Error, OSError):
        return None
    if not listening:
        return None
    pid = next((socket.pid for socket in listening if socket.pid), None)
    if pid is None:
        return Holder(None)
    try:
        process = psutil.Process(pid)
        return Holder(pid, process.name(), process.username())
    except psutil.Error:
        return Holder(pid)

"""How a task's process begins: at once, late, never, stopped, twice. Only the standard library."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

LATE_S = 45.0
POLL_S = 0.002  # a task that listens can be known to others a moment later
LISTENS_S_MAX = 120.0
LIVES_S = 10.0  # how long the first of two lives lasts, once it listens
LISTENING = "0A"  # in /proc/net/tcp

Start = Callable[[list[str], int], None]  # the command, and the port at which it will listen


def become(command: list[str], port: int) -> None:
    """As every launch script ends: /proc/PID/environ shows what the task really uses."""
    os.execvp(command[0], command)


def never(command: list[str], port: int) -> None:
    """Alive, and no TensorFlow in it: a container that pulls its image, a hook that hangs."""
    while True:
        signal.pause()


def late(command: list[str], port: int) -> None:
    time.sleep(LATE_S)
    become(command, port)


def stopped(command: list[str], port: int) -> None:
    """Frozen as soon as it listens, before anybody can talk to it."""
    task = os.getpid()
    if os.fork() == 0:
        with contextlib.suppress(TimeoutError):
            wait_until_listening(port, task)
            os.kill(task, signal.SIGSTOP)
        os._exit(0)
    become(command, port)


def twice(command: list[str], port: int) -> NoReturn:
    """Killed when the others know it, and started again at the same address."""
    first = subprocess.Popen(command)
    with contextlib.suppress(TimeoutError):
        wait_until_listening(port, first.pid)
    time.sleep(LIVES_S)
    first.kill()
    first.wait()
    print("the launcher starts its task again", file=sys.stderr, flush=True)
    os.execvp(command[0], command)


def wait_until_listening(port: int, pid: int) -> None:
    deadline_s = time.monotonic() + LISTENS_S_MAX
    while not is_listening(port, pid):
        if time.monotonic() > deadline_s or not Path(f"/proc/{pid}").exists():
            raise TimeoutError(f"pid {pid} does not listen on port {port}")
        time.sleep(POLL_S)


def is_listening(port: int, pid: int | str = "self") -> bool:
    """Whether anybody listens on a port, in the network that a process sees."""
    wanted = f":{port:04X}"
    for table in ("tcp", "tcp6"):
        with contextlib.suppress(OSError):
            for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
                fields = line.split()
                if fields[1].endswith(wanted) and fields[3] == LISTENING:
                    return True
    return False

"""Processes that a bench starts, and that never outlive it: also not when it is terminated."""

import signal
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

ROOT = Path(__file__).parents[2]
END_S_MAX = 10
Process = TypeVar("Process", bound="subprocess.Popen[str] | subprocess.Popen[bytes]")

_started: list["subprocess.Popen[str] | subprocess.Popen[bytes]"] = []


def terminable() -> None:
    """SIGTERM ends a bench like Ctrl-C does: everything is cleaned up on the way out."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))


def own(process: Process) -> Process:
    """Remembers a process, so that `end_all` finds it."""
    _started[:] = [other for other in _started if other.poll() is None]
    _started.append(process)
    return process


def ended(*processes: "subprocess.Popen[str] | subprocess.Popen[bytes]") -> None:
    """Kills them and waits."""
    for process in processes:
        with suppress(ProcessLookupError):
            process.kill()
    for process in processes:
        process.wait(END_S_MAX)
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()


def end_all() -> None:
    """Nothing that was started here runs on."""
    ended(*(process for process in _started if process.poll() is None))


def touch(folder: Path, nbytes: int) -> None:
    """A machine that lends its free memory to others gets it back slowly: not within the clock."""
    block = bytes(1 << 20)
    with tempfile.TemporaryFile(dir=folder) as file:
        for _ in range(nbytes >> 20):
            file.write(block)

"""Load on the machine while a job runs: busy loops, and a watcher that hardly gets to run."""

import contextlib
import os
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

from bench.blows import our_own
from bench.struck import StruckJob

NICE_MOST = 19
STOPPED_S, RUNNING_S = 1.5, 1.0
Blow = Callable[[list[int], threading.Event], None]
BUSY = "while :; do :; done"


def core_seconds() -> tuple[float, float]:
    """Of all cores of this machine since it started: those that were used, and all."""
    words = Path("/proc/stat").read_text().splitlines()[0].split()[1:9]
    ticks = [float(word) for word in words]
    idle = ticks[3] + ticks[4]  # waiting for a disk is idle, too
    return sum(ticks) - idle, sum(ticks)


@contextlib.contextmanager
def loaded(load: str, job: StruckJob) -> Iterator[None]:
    match load:
        case "hogs":
            with _hogs():
                yield
        case "observer-niced":
            with _hogs(), _bursts(job, _nice):
                yield
        case "observer-stopped":
            with _bursts(job, _stop_shortly):
                yield
        case _:
            yield


@contextlib.contextmanager
def _hogs() -> Iterator[None]:
    """One for each core."""
    found = [subprocess.Popen(["sh", "-c", BUSY]) for _ in range(os.cpu_count() or 1)]
    try:
        yield
    finally:
        for hog in found:
            hog.kill()
            hog.wait()


@contextlib.contextmanager
def _bursts(job: StruckJob, blow: Blow) -> Iterator[None]:
    """Again and again, until the job is judged; processes that come later are found, too."""
    over = threading.Event()

    def loop() -> None:
        while not over.wait(RUNNING_S):
            with contextlib.suppress(RuntimeError, OSError):
                blow(our_own(job), over)

    thread = threading.Thread(target=loop)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _nice(pids: list[int], over: threading.Event) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.setpriority(os.PRIO_PROCESS, pid, NICE_MOST)


def _stop_shortly(pids: list[int], over: threading.Event) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGSTOP)
    over.wait(STOPPED_S)
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)

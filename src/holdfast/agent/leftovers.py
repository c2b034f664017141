"""Ends what the tasks left behind: no process of a job outlives it."""

import contextlib
import os
import signal
import time
from collections.abc import Iterator

from holdfast.model.facts import Fact, LeftoverEnded
from holdfast.probes.process import ProcessStat, command_of, descendants, stat_of

GRACE_S_MAX = 5.0
ROUNDS_MAX = 20
PAUSE_S = 0.05


def end_leftovers(
    *, spare: frozenset[int], grace_s: float, at_s: float, host: str
) -> Iterator[list[Fact]]:
    """SIGTERM, a short grace, SIGKILL, until nothing is left below us but `spare`.

    Orphans are ours by adoption, so nothing can hide by forking twice or by a session of
    its own.
    """
    asked: set[tuple[int, int]] = set()
    deadline_s = time.monotonic() + min(grace_s, GRACE_S_MAX)
    rounds = 0
    while left := _left(spare):
        late = time.monotonic() >= deadline_s
        rounds += late
        if rounds > ROUNDS_MAX:
            return
        for process in left:
            number = signal.SIGKILL if late else signal.SIGTERM
            if late or (process.pid, process.started_ticks) not in asked:
                asked.add((process.pid, process.started_ticks))
                command = command_of(process.pid)
                if _signal(process, number):
                    yield [
                        LeftoverEnded(
                            at_s=at_s, host=host, pid=process.pid, command=command, signal=number
                        )
                    ]
        time.sleep(PAUSE_S)
        _reap(left)


def _left(spare: frozenset[int]) -> list[ProcessStat]:
    return [process for process in descendants(os.getpid()) if process.pid not in spare]


def _signal(process: ProcessStat, number: int) -> bool:
    """Only if the pid is still the process we saw."""
    now = stat_of(process.pid)
    if now is None or now.started_ticks != process.started_ticks:
        return False
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(process.pid, number)
        return True
    return False


def _reap(left: list[ProcessStat]) -> None:
    for process in left:
        with contextlib.suppress(ChildProcessError):
            os.waitpid(process.pid, os.WNOHANG)

"""Ends what the tasks left behind: no process of a job outlives it."""

import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterator, Sequence

from holdfast.model.facts import Fact, LeftoverEnded
from holdfast.probes.process import (
    ProcessStat,
    command_of,
    descendants,
    stat_of,
    with_marker,
)

GRACE_S_MAX = 5.0
ROUNDS_MAX = 20
PAUSE_S = 0.05


def end_leftovers(
    left_by: Callable[[], Sequence[ProcessStat]], *, grace_s: float, at_s: float, host: str
) -> Iterator[list[Fact]]:
    """SIGTERM, a short grace, SIGKILL, until nothing is left."""
    asked: set[tuple[int, int]] = set()
    deadline_s = time.monotonic() + min(grace_s, GRACE_S_MAX)
    rounds = 0
    while left := left_by():
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


def below(holder: int) -> list[ProcessStat]:
    """Orphans are the holder's by adoption, so nothing can hide by forking twice or by a session.

    It reaps them, too: those that have ended do not count.
    """
    return descendants(holder)


def of_session(holder: int, session: int) -> list[ProcessStat]:
    """What is left of the session that one task began with; who left it is ended with the job."""
    found = []
    for process in descendants(holder):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            found += [process] if os.getsid(process.pid) == session else []
    return found


def marked(run_id: str) -> list[ProcessStat]:
    """Where the holder is gone: all that were started with the mark of this run."""
    pids = with_marker(f"HOLDFAST_RUN_ID={run_id}".encode())
    return [found for pid in pids if pid != os.getpid() and (found := stat_of(pid))]


def _signal(process: ProcessStat, number: int) -> bool:
    """Only if the pid is still the process we saw."""
    now = stat_of(process.pid)
    if now is None or now.started_ticks != process.started_ticks:
        return False
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(process.pid, number)
        return True
    return False

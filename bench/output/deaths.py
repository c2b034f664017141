"""How long it takes from a task's death to the fact in the journal, with every core busy."""

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from bench.output.envs import NotAvailableError
from bench.output.measure import end

from holdfast.logdir.journal import JournalFollower, follow_journal
from holdfast.logdir.run_dir import open_run_dir
from holdfast.model.errors import HoldfastError
from holdfast.model.facts import AttemptStarted, TaskExited, TaskStarted

STORMS = 2
WORKERS = 40  # of one run; worker:0 leads, and outlives the others
START_S_MAX = 120.0
DEATH_S_MAX = 30.0
POLL_S = 0.001
PAUSE_S = (0.02, 0.12)


@dataclass(slots=True)
class Delays:
    """In seconds after the moment just before the kill."""

    stamped: list[float] = field(default_factory=list)  # the supervisor made the fact
    readable: list[float] = field(default_factory=list)  # another process read it in the journal
    storms: list[float] = field(default_factory=list)  # all killed at once: the last was readable


def measure_deaths(count: int, folder: Path) -> Delays:
    delays = Delays()
    with _busy_cores():
        for number in range(-(-count // (WORKERS - 1))):
            victims = min(WORKERS - 1, count - len(delays.readable))
            with _run(folder / f"deaths-{number}") as running:
                running.kill_one_by_one(victims, delays)
        for number in range(STORMS):
            with _run(folder / f"storm-{number}") as running:
                running.kill_at_once(delays)
    return delays


@contextlib.contextmanager
def _busy_cores() -> Iterator[None]:
    busy = [
        subprocess.Popen([sys.executable, "-c", "while True: pass"], start_new_session=True)
        for _ in range(os.cpu_count() or 1)
    ]
    try:
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()


@contextlib.contextmanager
def _run(run_dir: Path) -> Iterator["Running"]:
    """With a parameter server, the death of a worker does not end the job for the others."""
    size = ["--workers", str(WORKERS), "--ps", "1", "--grace-s", "1"]
    command = [sys.executable, "-m", "holdfast", "run", "--quiet", *size]
    front = subprocess.Popen(
        [*command, "--run-dir", str(run_dir), "--", "sleep", "600"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        with _journal(run_dir) as journal:
            yield _started(journal)
    finally:
        end([front])


@dataclass(slots=True)
class Running:
    journal: JournalFollower
    began_unix_s: float
    pids: dict[str, int]

    @property
    def victims(self) -> list[str]:
        return [name for name in self.pids if name.startswith("worker:") and name != "worker:0"]

    def kill_one_by_one(self, count: int, delays: Delays) -> None:
        for name in random.sample(self.victims, count):
            time.sleep(random.uniform(*PAUSE_S))
            killed_unix_s, killed_s = time.time(), time.monotonic()
            os.kill(self.pids[name], signal.SIGKILL)
            for fact in self._exits(killed_s, 1):
                delays.readable.append(time.monotonic() - killed_s)
                delays.stamped.append(self.began_unix_s + fact.at_s - killed_unix_s)

    def kill_at_once(self, delays: Delays) -> None:
        killed_s = time.monotonic()
        for name in self.victims:
            os.kill(self.pids[name], signal.SIGKILL)
        for _ in self._exits(killed_s, len(self.victims)):
            pass
        delays.storms.append(time.monotonic() - killed_s)

    def _exits(self, killed_s: float, count: int) -> Iterator[TaskExited]:
        """As they become readable; so many have been killed."""
        seen = 0
        while seen < count:
            for fact in self.journal.fresh():
                if isinstance(fact, TaskExited):
                    seen += 1
                    yield fact
            if time.monotonic() - killed_s > DEATH_S_MAX:
                raise NotAvailableError(f"a death was not told within {DEATH_S_MAX:.0f} s")
            time.sleep(POLL_S)


def _journal(run_dir: Path) -> JournalFollower:
    deadline_s = time.monotonic() + START_S_MAX
    while time.monotonic() < deadline_s:
        with contextlib.suppress(HoldfastError):
            return follow_journal(open_run_dir(run_dir))
        time.sleep(0.05)
    raise NotAvailableError("holdfast run did not start")


def _started(journal: JournalFollower) -> Running:
    began_unix_s = 0.0
    pids: dict[str, int] = {}
    deadline_s = time.monotonic() + START_S_MAX
    while len(pids) < WORKERS + 1:
        for fact in journal.fresh():
            if isinstance(fact, AttemptStarted):
                began_unix_s = fact.began_unix_s
            elif isinstance(fact, TaskStarted):
                pids[str(fact.task)] = fact.pid
        if time.monotonic() > deadline_s:
            raise NotAvailableError(f"only {len(pids)} of {WORKERS + 1} tasks started")
        time.sleep(0.05)
    time.sleep(1.0)  # the tasks are executed, the supervisor is at rest
    return Running(journal, began_unix_s, pids)

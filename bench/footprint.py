"""Holdfast's own processes of one run: found by a mark, frozen and thawed, measured."""

import contextlib
import os
import signal
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import psutil

MARK = "HOLDFAST_BENCH_MARK"  # in the environment of the front, and so of all that it starts
TICKS_A_S = os.sysconf("SC_CLK_TCK")
_NAMES = {
    "holdfast": "front",
    "holdfast.supervisor": "supervisor",
    "holdfast.agent.hold": "holder",
    "holdfast.agent.scan": "reader",
    "holdfast.agent.look_at_start": "looker",
    "holdfast.agent.watch": "watcher",
}


@dataclass(frozen=True, slots=True)
class Own:
    pid: int
    name: str

    @property
    def is_front(self) -> bool:
        return self.name == "front"


@dataclass(frozen=True, slots=True)
class Used:
    cpu_s: float  # of the process and of its children that have ended
    pss_bytes: int  # memory that several processes share counts a part for each


def own_processes(mark: str, program: str) -> list[Own]:
    """All that carry the mark and are no task; a task is `python PROGRAM ...`."""
    found = []
    for process in _marked(mark):
        with contextlib.suppress(psutil.Error):
            words = process.cmdline()
            if words[1:2] != [program]:
                found.append(Own(process.pid, _name_of(words)))
    return found


@dataclass(frozen=True, slots=True)
class Spent:
    """Processor time until now, in seconds."""

    everybody_s: float
    job_s: float
    idle_s: float

    def others_until(self, later: "Spent") -> float:
        """The share of all cores that went to neither the job nor to rest; a host's theft too."""
        busy_s, idle_s = later.everybody_s - self.everybody_s, later.idle_s - self.idle_s
        others_s = busy_s - (later.job_s - self.job_s)
        return max(0.0, others_s) / max(busy_s + idle_s, 0.01)


class Clock:
    """What all processors have done, and what the processes with a mark have."""

    def __init__(self, mark: str) -> None:
        self._pids = [process.pid for process in _marked(mark)]

    def spent(self) -> Spent:
        times = psutil.cpu_times()
        idle_s = times.idle + times.iowait
        return Spent(sum(times[:8]) - idle_s, sum(map(cpu_s, self._pids)), idle_s)


def freeze(processes: Iterable[Own]) -> None:
    _signal(processes, signal.SIGSTOP)


def thaw(processes: Iterable[Own]) -> None:
    _signal(processes, signal.SIGCONT)


def used(process: Own) -> Used | None:
    """None when it has ended."""
    try:
        memory = Path(f"/proc/{process.pid}/smaps_rollup").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    pss_kib = next(line.split()[1] for line in memory.splitlines() if line.startswith("Pss:"))
    return Used(cpu_s(process.pid), int(pss_kib) * 1024)


def cpu_s(pid: int) -> float:
    """Of a process and of its children that have ended; 0 when it has ended itself."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    return sum(map(int, stat[11:15])) / TICKS_A_S


def _marked(mark: str) -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if process.environ().get(MARK) == mark:
                found.append(process)
    return found


def _signal(processes: Iterable[Own], number: signal.Signals) -> None:
    for process in processes:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process.pid, number)


def _name_of(words: list[str]) -> str:
    for before, word in pairwise(words):
        if before == "-m":
            return _NAMES.get(word, word)
    return Path(words[0]).name if words else "?"

"""Memory and processor time of a tool's own processes, sampled while its children flood."""

import itertools
import threading
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

import psutil

SAMPLE_EVERY_S = 0.25
SEARCH_EVERY_SAMPLES = 8  # looking through /proc for new processes costs more than a sample
_NAMES = {"holdfast.supervisor": "supervisor", "holdfast.agent.scan": "reader", "run": "front"}


@dataclass(slots=True)
class Used:
    """One process: its peak of resident memory, and the processor time it took so far."""

    name: str
    peak_bytes: int = 0
    cpu_s: float = 0.0


@dataclass(slots=True)
class Usage:
    """Of every process below these, the flooding ones excepted. Samples until it is left."""

    roots: Iterable[int]
    used: dict[int, Used] = field(default_factory=dict)
    _family: list[psutil.Process] = field(default_factory=list)
    _over: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=self._run)
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._over.set()
        if self._thread:
            self._thread.join()

    @property
    def cpu_s(self) -> float:
        return sum(used.cpu_s for used in self.used.values())

    def sample(self) -> None:
        """Look at every process once, new ones too."""
        family = [process for pid in self.roots for process in _family(pid)]
        for process in family:
            self._sample(process)
        self._family = family

    def _run(self) -> None:
        for turn in itertools.count(1):
            if self._over.wait(SAMPLE_EVERY_S):
                return
            if turn % SEARCH_EVERY_SAMPLES == 0:
                self.sample()
            for process in self._family:
                self._sample(process)

    def _sample(self, process: psutil.Process) -> None:
        try:
            words = process.cmdline()
            if not words or any(word.endswith("flood.py") for word in words[:3]):
                return
            used = self.used.setdefault(process.pid, Used(_name_of(words)))
            used.name = _name_of(words)  # it may have been a fork that had not executed yet
            times = process.cpu_times()
            used.cpu_s = times.user + times.system
            used.peak_bytes = max(used.peak_bytes, peak_bytes(process.pid))
        except (psutil.NoSuchProcess, OSError):
            return


def _family(pid: int) -> list[psutil.Process]:
    try:
        root = psutil.Process(pid)
        return [root, *root.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def peak_bytes(pid: int) -> int:
    """The kernel's own record, so no peak between two samples is missed."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return 0


@dataclass(frozen=True, slots=True)
class Spent:
    """Shares of all cores."""

    tool: float
    others: float  # neither the tool nor its children; time that the host took away counts


class Clock:
    """What all processors have done until now, and what a tool has."""

    def __init__(self, tool_s: float) -> None:
        times = psutil.cpu_times()
        self.tool_s = tool_s
        self.total_s = sum(times[:8])
        self.busy_s = self.total_s - times.idle - times.iowait

    def until(self, later: "Clock", children_s: float) -> Spent:
        total_s = max(later.total_s - self.total_s, 0.01)
        tool_s = later.tool_s - self.tool_s
        others_s = later.busy_s - self.busy_s - tool_s - children_s
        return Spent(tool_s / total_s, max(0.0, others_s) / total_s)


def _name_of(words: list[str]) -> str:
    for word in words[1:4]:
        if word in _NAMES:
            return _NAMES[word]
    return Path(words[0]).name

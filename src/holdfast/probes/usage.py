"""What a task's processes have used so far: cores, memory, threads, files, storage."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from holdfast.probes import cgroup_folders

_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_NS_PER_S, _US_PER_S = 1e9, 1e6
_STAT_UTIME, _STAT_STIME, _STAT_THREADS, _STAT_STORAGE = 11, 12, 17, 39  # counted after `comm`
THREADS_MAX = 256


@dataclass(frozen=True, slots=True)
class ProcessUse:
    """Of one process since it began, as far as the kernel counts it."""

    state: str
    cpu_s: float
    threads: int
    storage_s: float  # waited for blocks of a device; 0 where the kernel does not count that
    rss_bytes: int


def process_use(pid: int) -> ProcessUse | None:
    """Two small reads, none of which waits for the process."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123 - read for every task, often
            stat = file.read()
        with open(f"/proc/{pid}/statm", "rb") as file:  # noqa: PTH123
            rss_pages = int(file.read().split()[1])
    except (OSError, IndexError):
        return None
    fields = stat[stat.rindex(b")") + 2 :].split()
    return ProcessUse(
        state=fields[0].decode(),
        cpu_s=(int(fields[_STAT_UTIME]) + int(fields[_STAT_STIME])) / _TICKS_PER_S,
        threads=int(fields[_STAT_THREADS]),
        storage_s=int(fields[_STAT_STORAGE]) / _TICKS_PER_S,
        rss_bytes=rss_pages * _PAGE_BYTES,
    )


@dataclass(frozen=True, slots=True)
class ThreadUse:
    """Of one thread since it began."""

    on_core_s: float
    wanted_s: float  # wanted a core, and got none


def thread_use(pid: int, thread: int | None = None) -> ThreadUse | None:
    """Of the main thread, where none is named; None where the kernel does not count."""
    try:
        with open(f"/proc/{pid}/task/{thread or pid}/schedstat", "rb") as file:  # noqa: PTH123
            on_core, wanted, _ = file.read().split()
    except (OSError, ValueError):
        return None
    return ThreadUse(int(on_core) / _NS_PER_S, int(wanted) / _NS_PER_S)


def all_threads_use(pid: int) -> ThreadUse:
    """All threads together. Costs 40 microseconds for each, and they may be hundreds."""
    found = [thread_use(pid, int(name)) for name in _names(f"/proc/{pid}/task")[:THREADS_MAX]]
    used = [one for one in found if one]
    return ThreadUse(sum(one.on_core_s for one in used), sum(one.wanted_s for one in used))


def open_files(pids: Sequence[int]) -> int:
    """How many descriptors these processes have open; those of strangers count as none."""
    return sum(len(_names(f"/proc/{pid}/fd")) for pid in pids)


def cores_of(pid: int) -> frozenset[int]:
    """On which cores a process's main thread may run; none where nobody knows."""
    try:
        return frozenset(os.sched_getaffinity(pid))
    except OSError:
        return frozenset()


@dataclass(frozen=True, slots=True)
class Throttled:
    """How long the quota of a CPU cgroup kept its processes from running, and how much it is."""

    throttled_s: float
    cores: float  # that the quota allows
    cgroup: str
    period_s: float  # after which there is a new quota
    times: int  # periods in which it was used up


def throttled(pid: int) -> Throttled | None:
    """The tightest CPU quota above a process; None where there is none."""
    tightest: Throttled | None = None
    for folder in cgroup_folders("cpu", pid=pid):
        quota_us, period_us = _quota_us(folder)
        if period_us and (tightest is None or quota_us / period_us < tightest.cores):
            pairs = _pairs(folder / "cpu.stat")
            throttled_s = pairs.get("throttled_time", 0) / _NS_PER_S
            tightest = Throttled(
                throttled_s=throttled_s or pairs.get("throttled_usec", 0) / _US_PER_S,
                cores=quota_us / period_us,
                cgroup=str(folder.relative_to("/sys/fs/cgroup")),
                period_s=period_us / _US_PER_S,
                times=pairs.get("nr_throttled", 0),
            )
    return tightest


def _quota_us(folder: Path) -> tuple[int, int]:
    """What a cgroup may use in each period; zeros without a quota."""
    words = _word(folder / "cpu.max").split()
    if not words:
        words = [_word(folder / f"cpu.cfs_{what}_us") for what in ("quota", "period")]
    if len(words) != 2 or not all(word.isdigit() for word in words):  # noqa: PLR2004 - max, -1
        return 0, 0
    return int(words[0]), int(words[1])


def _word(file: Path) -> str:
    try:
        return file.read_text().strip()
    except OSError:
        return ""


def _pairs(file: Path) -> dict[str, int]:
    pairs = (line.split(" ", 1) for line in _word(file).splitlines())
    return {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2 and pair[1].isdigit()}  # noqa: PLR2004


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)  # noqa: PTH208 - a Path for each costs more than the look
    except OSError:
        return []

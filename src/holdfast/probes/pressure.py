"""How busy a host is: its cores, its memory, who waits for them, and who uses them."""

import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_KIB = 1024
_US_PER_S = 1e6
_IDLE, _IOWAIT = 3, 4
OTHERS_MAX = 3
CORES_MIN = 0.1  # whoever uses less disturbs nobody
DEPTH_MAX = 64  # of processes below each other
NAME_LENGTH_MAX = 32


@dataclass(frozen=True, slots=True)
class HostUse:
    """Sums since the host was started; two of them give what happened in between."""

    cpus: int
    busy_s: float  # of all cores together
    total_s: float
    memory_bytes: int
    memory_free_bytes: int
    stalls_s: Mapping[str, float]  # cpu, memory, io: how long somebody waited; where it is counted


def host_use() -> HostUse:
    cpus, busy_s, total_s = _cores()
    memory = _memory()
    return HostUse(
        cpus=cpus,
        busy_s=busy_s,
        total_s=total_s,
        memory_bytes=memory.get("MemTotal", 0),
        memory_free_bytes=memory.get("MemAvailable", memory.get("MemFree", 0)),
        stalls_s={
            name: stalled
            for name in ("cpu", "memory", "io")
            if (stalled := _stalled_s(Path(f"/proc/pressure/{name}"))) is not None
        },
    )


def _cores() -> tuple[int, float, float]:
    lines = _lines(Path("/proc/stat"))
    cpus = sum(line.startswith("cpu") and line[3:4].isdigit() for line in lines)
    ticks = [int(word) for word in lines[0].split()[1:9]] if lines else []
    total = sum(ticks)
    idle = sum(ticks[_IDLE : _IOWAIT + 1])
    return cpus or 1, (total - idle) / _TICKS_PER_S, total / _TICKS_PER_S


def _memory() -> dict[str, int]:
    found: dict[str, int] = {}
    for line in _lines(Path("/proc/meminfo"))[:10]:
        name, _, value = line.partition(":")
        if (amount := value.removesuffix(" kB").strip()).isdigit():
            found[name] = int(amount) * _KIB
    return found


def _stalled_s(file: Path) -> float | None:
    """The sum of `some`: the time in which at least one process waited."""
    for line in _lines(file):
        if line.startswith("some ") and (total := line.rpartition("total=")[2]).isdigit():
            return int(total) / _US_PER_S
    return None


def _lines(file: Path) -> list[str]:
    try:
        return file.read_text().splitlines()
    except OSError:
        return []


@dataclass(frozen=True, slots=True)
class _Process:
    parent: int
    name: str
    cpu_s: float


class OtherPrograms:
    """Who else uses the cores: two passes over /proc make one answer."""

    def __init__(self) -> None:
        self._before: dict[int, _Process] = {}
        self._before_s = 0.0

    def cores_used(self, at_s: float, *, ours: Collection[int]) -> dict[str, float]:
        """The biggest, by name; empty at the first call. Who descends from `ours` is no other."""
        now = _processes()
        before, over_s = self._before, at_s - self._before_s
        self._before, self._before_s = now, at_s
        if not before or over_s <= 0:
            return {}
        cores: dict[str, float] = {}
        for pid, process in now.items():
            if pid in before and not _descends(pid, now, ours):
                used = (process.cpu_s - before[pid].cpu_s) / over_s
                cores[process.name] = cores.get(process.name, 0.0) + used
        biggest = sorted(cores, key=lambda name: -cores[name])[:OTHERS_MAX]
        return {name: round(cores[name], 2) for name in biggest if cores[name] >= CORES_MIN}

    def forget(self) -> None:
        """What was counted long ago says nothing of now."""
        self._before = {}


def _descends(pid: int, processes: Mapping[int, _Process], ours: Collection[int]) -> bool:
    for _ in range(DEPTH_MAX):
        if pid in ours:
            return True
        if pid not in processes:
            return False
        pid = processes[pid].parent
    return False


def _processes() -> dict[int, _Process]:
    found: dict[int, _Process] = {}
    for name in os.listdir("/proc"):  # noqa: PTH208 - a Path for each costs more than the look
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", "rb") as file:  # noqa: PTH123
                stat = file.read()
        except OSError:
            continue
        begin, end = stat.index(b"(") + 1, stat.rindex(b")")
        fields = stat[end + 2 :].split(maxsplit=14)
        cpu_s = (int(fields[11]) + int(fields[12])) / _TICKS_PER_S
        program = stat[begin:end].decode(errors="replace")[:NAME_LENGTH_MAX]
        found[int(name)] = _Process(int(fields[1]), program, cpu_s)
    return found

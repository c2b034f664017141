"""What this host has for the tasks that belong on it: processors and memory."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from holdfast.model.facts import HostMeasured
from holdfast.probes import cgroup_folders

TASKS_MAX = 10_000
_UNLIMITED_BYTES = 1 << 60
_KIB = 1024


def measure_host(where: dict[str, Any], tasks: Sequence[str]) -> HostMeasured:
    """What a task that is started from here may use, not what the machine was sold with."""
    memory = _memory()
    rooms = list(_cgroup_memory(cgroup_folders("memory")))
    free = [memory.get("MemAvailable", memory.get("MemFree", 0)), *(left for _, left in rooms)]
    return HostMeasured(
        cpus=_cpus(cgroup_folders("cpu")),
        memory_bytes=memory.get("MemTotal", 0),
        memory_free_bytes=max(0, min(free)),
        cgroup_limit_bytes=min((limit for limit, _ in rooms), default=None),
        tasks=tuple(tasks[:TASKS_MAX]),
        outgoing_ports=_outgoing_ports(),
        **where,
    )


def _outgoing_ports() -> tuple[int, ...]:
    """From and to which port, both included, the kernel takes those of outgoing connections."""
    try:
        first, last = Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()
    except (OSError, ValueError):
        return ()
    return int(first), int(last)


def _memory() -> dict[str, int]:
    """The lines of /proc/meminfo, in bytes."""
    found: dict[str, int] = {}
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return found
    for line in lines:
        name, _, value = line.partition(":")
        if (amount := value.removesuffix(" kB").strip()).isdigit():
            found[name] = int(amount) * _KIB
    return found


def _cgroup_memory(folders: Iterator[Path]) -> Iterator[tuple[int, int]]:
    """The limit and what is left below it, for each cgroup that has one."""
    for folder in folders:
        limit = _number(folder / "memory.max", folder / "memory.limit_in_bytes")
        if limit is None or limit >= _UNLIMITED_BYTES:
            continue
        used = _number(folder / "memory.current", folder / "memory.usage_in_bytes") or 0
        yield limit, limit - max(0, used - _reclaimable(folder / "memory.stat"))


def _reclaimable(stat: Path) -> int:
    """Cached files count as used, and go when a task wants the memory."""
    try:
        pairs = dict(line.split(" ", 1) for line in stat.read_text().splitlines())
    except (OSError, ValueError):
        return 0
    names = ("total_inactive_file", "inactive_file")
    return next((int(pairs[name]) for name in names if name in pairs), 0)


def _number(*files: Path) -> int | None:
    """What the first file that is there says; None for `max` and -1."""
    for file in files:
        try:
            text = file.read_text().strip()
        except OSError:
            continue
        return int(text) if text.isdigit() else None
    return None


def _cpus(folders: Iterator[Path]) -> int:
    """How many processors a task may really keep busy: affinity and quota, rounded up."""
    shares = [float(len(os.sched_getaffinity(0)))]
    for folder in folders:
        quota, period = _quota(folder)
        if quota and period:
            shares.append(quota / period)
    return max(1, -int(-min(shares) // 1))


def _quota(folder: Path) -> tuple[int | None, int | None]:
    try:
        quota, period = (folder / "cpu.max").read_text().split()
    except (OSError, ValueError):
        return _number(folder / "cpu.cfs_quota_us"), _number(folder / "cpu.cfs_period_us")
    return (int(quota) if quota.isdigit() else None), int(period)

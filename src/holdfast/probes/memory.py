"""A task's memory cgroup: its limit, and how often the kernel killed in it. v1 and v2."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_MOUNT = Path("/sys/fs/cgroup")
_UNLIMITED_BYTES = 1 << 60
_CACHE_MATTERS = 0.5  # of the limit; below that nobody is in a hurry


@dataclass(frozen=True, slots=True)
class MemoryCgroup:
    path: str  # as /proc/PID/cgroup names it
    kills: int
    limit_bytes: int | None


def memory_cgroup(pid: int) -> MemoryCgroup | None:
    """The memory cgroup a process is in, or None where it cannot be known."""
    path = cgroup_path(pid)
    return None if path is None else cgroup_at(path)


def cgroup_path(pid: int) -> str | None:
    """Where in the tree of memory cgroups a process is. Costs microseconds."""
    try:
        with open(f"/proc/{pid}/cgroup") as file:  # noqa: PTH123 - called for every task, often
            lines = file.read().splitlines()
    except OSError:
        return None
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers == "memory" or (not controllers and _is_unified()):
            return path
    return None


def cgroup_at(path: str) -> MemoryCgroup | None:
    """A cgroup now, which may have outlived its processes. The kernel takes its time for it."""
    return read_cgroup(path, _MOUNT if _is_unified() else _MOUNT / "memory")


@cache
def _is_unified() -> bool:
    return (_MOUNT / "cgroup.controllers").exists()


def read_cgroup(path: str, mount: Path) -> MemoryCgroup | None:
    """Counters from memory.events (v2) or memory.oom_control (v1)."""
    folder = mount / path.lstrip("/")
    for counters, limit in (
        ("memory.events", "memory.max"),
        ("memory.oom_control", "memory.limit_in_bytes"),
    ):
        try:
            pairs = dict(
                line.split(" ", 1) for line in (folder / counters).read_text().splitlines()
            )
        except OSError:
            continue
        return MemoryCgroup(path, int(pairs.get("oom_kill", 0)), _limit(folder / limit))
    return None


def _limit(file: Path) -> int | None:
    try:
        text = file.read_text().strip()
    except OSError:
        return None
    if not text.isdigit() or int(text) >= _UNLIMITED_BYTES:
        return None
    return int(text)


@dataclass(frozen=True, slots=True)
class MemoryRoom:
    """A limit on memory, and how much of it is used by what cannot be thrown away."""

    limit_bytes: int
    used_bytes: int
    cgroup: str  # empty: the whole host


def limited_folders(folders: Iterable[Path]) -> list[tuple[Path, int]]:
    """Those of a process's memory cgroups that have a limit, with it."""
    found = []
    for folder in folders:
        limit = _limit(folder / "memory.max") or _limit(folder / "memory.limit_in_bytes")
        if limit is not None:
            found.append((folder, limit))
    return found


def room_in(folder: Path, limit_bytes: int) -> MemoryRoom | None:
    """What is used, without cached files and names: those go when somebody needs the memory."""
    used = _count(folder / "memory.current") or _count(folder / "memory.usage_in_bytes")
    if used is None:
        return None
    if used > limit_bytes * _CACHE_MATTERS:
        used = max(0, used - _cached_bytes(folder / "memory.stat"))
    return MemoryRoom(limit_bytes, used, str(folder.relative_to(_MOUNT)))


def _cached_bytes(stat: Path) -> int:
    """The list of what is used takes the kernel a while: read only when it is worth it."""
    try:
        pairs = dict(line.split(" ", 1) for line in stat.read_text().splitlines())
    except (OSError, ValueError):
        return 0
    # Version 1 counts a cgroup and all below it in `total_`; of version 2 each number is so.
    prefix = "total_" if "total_inactive_file" in pairs else ""
    names = ("inactive_file", "active_file", "slab_reclaimable")
    return sum(int(pairs.get(f"{prefix}{name}", 0)) for name in names)


def _count(file: Path) -> int | None:
    try:
        text = file.read_text().strip()
    except OSError:
        return None
    return int(text) if text.isdigit() else None

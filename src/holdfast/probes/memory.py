"""A task's memory cgroup: its limit, and how often the kernel killed in it. v1 and v2."""

from dataclasses import dataclass
from pathlib import Path

_MOUNT = Path("/sys/fs/cgroup")
_UNLIMITED_BYTES = 1 << 60


@dataclass(frozen=True, slots=True)
class MemoryCgroup:
    path: str  # as /proc/PID/cgroup names it
    kills: int
    limit_bytes: int | None


def memory_cgroup(pid: int) -> MemoryCgroup | None:
    """The memory cgroup a process is in, or None where it cannot be known."""
    try:
        lines = Path(f"/proc/{pid}/cgroup").read_text().splitlines()
    except OSError:
        return None
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers == "memory":
            return read_cgroup(path, _MOUNT / "memory")
        if not controllers and (_MOUNT / "cgroup.controllers").exists():
            return read_cgroup(path, _MOUNT)
    return None


def again(seen: MemoryCgroup) -> MemoryCgroup | None:
    """The same cgroup now, which may have outlived its process."""
    if (_MOUNT / "cgroup.controllers").exists():
        return read_cgroup(seen.path, _MOUNT)
    return read_cgroup(seen.path, _MOUNT / "memory")


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

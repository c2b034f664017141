"""Limits that stop a task before it can work: open files, and threads."""

import os
import resource
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from holdfast.model.facts import LimitSeen
from holdfast.probes import cgroup_folders

OPEN_FILES = "open-files"
USER_THREADS = "user-threads"  # RLIMIT_NPROC counts threads, over all of a user's processes
CGROUP_THREADS = "cgroup-threads"


def seen_limits(where: dict[str, Any]) -> Iterator[LimitSeen]:
    """The limits that a task started from here inherits. What has no limit yields no fact."""
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if files != resource.RLIM_INFINITY:
        yield LimitSeen(limit=OPEN_FILES, soft=files, **where)
    threads, _ = resource.getrlimit(resource.RLIMIT_NPROC)
    if threads != resource.RLIM_INFINITY and os.geteuid() != 0:  # root may exceed it
        yield LimitSeen(limit=USER_THREADS, soft=threads, used=_threads_of(os.getuid()), **where)
    yield from _cgroup_threads(where, cgroup_folders("pids"))


def _cgroup_threads(where: dict[str, Any], folders: Iterator[Path]) -> Iterator[LimitSeen]:
    """Of all cgroups above us, the one that leaves the least."""
    found: list[tuple[int, int]] = []
    for folder in folders:
        try:
            limit = (folder / "pids.max").read_text().strip()
            used = int((folder / "pids.current").read_text())
        except (OSError, ValueError):
            continue
        if limit.isdigit():
            found.append((int(limit), used))
    if found:
        soft, used = min(found, key=lambda pair: pair[0] - pair[1])
        yield LimitSeen(limit=CGROUP_THREADS, soft=soft, used=used, **where)


def _threads_of(user: int) -> int:
    """All threads of a user's processes, as the kernel counts them against the limit."""
    total = 0
    for name in os.listdir("/proc"):  # noqa: PTH208 - a Path for each costs more than the look
        if not name.isdigit():
            continue
        try:
            text = Path(f"/proc/{name}/status").read_text()
        except OSError:
            continue
        fields = dict(line.split(":\t", 1) for line in text.splitlines() if ":\t" in line)
        if fields.get("Uid", "").split()[:1] == [str(user)]:
            total += int(fields.get("Threads", "1"))
    return total

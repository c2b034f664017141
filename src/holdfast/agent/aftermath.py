"""What can be learnt about a task that has just died, before its traces go."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from holdfast.model.cluster import TaskId
from holdfast.model.facts import (
    CgroupKilledForMemory,
    DiskMeasured,
    Fact,
    LastWords,
    LimitSeen,
    PortHeld,
)
from holdfast.probes.disk import room_at
from holdfast.probes.memory import MemoryCgroup
from holdfast.probes.net import holder_of
from holdfast.probes.output import LAST_WORDS_BYTES, last_words
from holdfast.probes.process import open_files_limit

Where = dict[str, Any]  # at_s, host, task and attempt of the facts to come


def words_left(where: Where, streams: dict[str, int]) -> Iterator[Fact]:
    """The end of each stream, read straight from the files."""
    for stream, fd in streams.items():
        size = os.fstat(fd).st_size
        tail = os.pread(fd, LAST_WORDS_BYTES, max(0, size - LAST_WORDS_BYTES))
        if found := last_words(tail, LastWords(lines=(), stream=stream, **where)):
            yield found


def memory_kills(where: Where, before: MemoryCgroup, now: MemoryCgroup) -> Iterator[Fact]:
    """The OOM kills that a memory cgroup counts since we first saw it."""
    if now.kills > before.kills:
        yield CgroupKilledForMemory(
            cgroup=now.path,
            kills=now.kills - before.kills,
            limit_bytes=now.limit_bytes,
            **where,
        )


def limits(where: Where, pid: int) -> Iterator[Fact]:
    soft = open_files_limit(pid)
    if soft is not None:
        yield LimitSeen(limit="open-files", soft=soft, **where)


def rooms(where: Where, run_dir: Path) -> Iterator[Fact]:
    """Space where the output goes and where the job works; one fact a file system."""
    seen: set[int] = set()
    places = {"logs": str(run_dir), "work": _work(), "temporary files": _temporary()}
    for purpose, path in places.items():
        room = room_at(path)
        if room is None or (device := Path(path).stat().st_dev) in seen:
            continue
        seen.add(device)
        yield DiskMeasured(
            path=path,
            free_bytes=room.free_bytes,
            total_bytes=room.total_bytes,
            free_inodes=room.free_inodes,
            purpose=purpose,
            **where,
        )


def port_holder(where: Where, address: str, tasks: dict[int, TaskId]) -> Iterator[Fact]:
    """Who listens where the dead task should have: nobody, as a rule."""
    _, _, port = address.rpartition(":")
    holder = holder_of(int(port)) if port.isdigit() else None
    if holder is not None:
        yield PortHeld(
            port=int(port),
            pid=holder.pid,
            command=holder.command,
            user=holder.user,
            holder=tasks.get(holder.pid or -1),
            **where,
        )


def core_pattern(*, dumped: bool) -> str:
    """Where the kernel put the core, in its own words."""
    try:
        return Path("/proc/sys/kernel/core_pattern").read_text().strip() if dumped else ""
    except OSError:
        return ""


def _work() -> str:
    """Where the job works; nowhere when that directory is gone."""
    try:
        return str(Path.cwd())
    except FileNotFoundError:
        return ""


def _temporary() -> str:
    return os.environ.get("TMPDIR", "/tmp")

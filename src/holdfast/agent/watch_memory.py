"""Whose memory will run out, and when, or is nearly gone: told while there is time to act."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from holdfast.agent.watched import Watched
from holdfast.model.cluster import TaskId
from holdfast.model.facts import Fact
from holdfast.model.growth import Track
from holdfast.model.watch_facts import MemoryNearlyFull, MemoryNearsLimit
from holdfast.probes import cgroup_folders
from holdfast.probes.memory import MemoryRoom, limited_folders, room_in
from holdfast.probes.usage import process_use

EVERY_S = 2.0
FOLDERS_EVERY_S = 30.0  # a wrapper may move a task into another cgroup
AGAIN_S = 10.0
LEFT_S_MAX = 120.0
USED_SHARE_MIN = 0.6
SETTLED_S = 20.0  # loading TensorFlow takes hundreds of megabytes, and then no more
GROWER_SHARE = 0.5  # of the growth that one task must have, to be named
FULL_SHARE, FULL_S, FULL_AGAIN_S = 0.9, 60.0, 20.0
LOOKS_APART_S_MAX = 10.0  # what nobody looked at for longer may have been otherwise
SHOWN_MAX = 3


@dataclass(slots=True)
class _Limit:
    track: Track = field(default_factory=Track)
    room: MemoryRoom | None = None
    told_s: float = float("-inf")
    looked_s: float = float("-inf")
    full_since_s: float | None = None
    full_told_s: float = float("-inf")


class MemoryLook:
    def __init__(self, host: str) -> None:
        self._host = host
        self._looked_s = self._folders_s = float("-inf")
        self._trained_s: dict[TaskId, float] = {}  # since when it has TensorFlow
        self._rss: dict[TaskId, Track] = {}
        self._rss_bytes: dict[TaskId, int] = {}  # by the last look
        self._limits: dict[str, _Limit] = {}  # by cgroup; empty: the host
        self._folders: dict[Path, tuple[int, set[TaskId]]] = {}  # the limit, and who is below it

    def look(
        self, tasks: Mapping[TaskId, Watched], at_s: float, host_room: MemoryRoom
    ) -> Iterator[Fact]:
        if at_s - self._looked_s < EVERY_S:
            return
        self._looked_s = at_s
        self._forget(tasks)
        for task, watched in tasks.items():
            if watched.trains:
                self._trained_s.setdefault(task, at_s)
            used = process_use(watched.main)
            if used is not None:
                self._rss.setdefault(task, Track()).add(at_s, used.rss_bytes)
                self._rss_bytes[task] = used.rss_bytes
        if at_s - self._folders_s >= FOLDERS_EVERY_S:
            self._folders_s = at_s
            self._find_limits(tasks)
        yield from self._look_at(host_room, at_s, set(tasks))
        for folder, (limit_bytes, below) in self._folders.items():
            room = room_in(folder, limit_bytes)
            if room is not None:
                yield from self._look_at(room, at_s, below)

    def _forget(self, tasks: Mapping[TaskId, Watched]) -> None:
        for task in self._rss.keys() - tasks.keys():
            del self._rss[task], self._rss_bytes[task]
        for task in self._trained_s.keys() - tasks.keys():
            del self._trained_s[task]
        if {task for _, below in self._folders.values() for task in below} - tasks.keys():
            self._folders_s = float("-inf")
        if tasks.keys() - self._rss.keys():
            self._folders_s = float("-inf")

    def _find_limits(self, tasks: Mapping[TaskId, Watched]) -> None:
        self._folders = {}
        for task, watched in tasks.items():
            for folder, limit in limited_folders(cgroup_folders("memory", pid=watched.main)):
                self._folders.setdefault(folder, (limit, set()))[1].add(task)

    def _look_at(self, room: MemoryRoom, at_s: float, below: set[TaskId]) -> Iterator[Fact]:
        limit = self._limits.setdefault(room.cgroup, _Limit())
        limit.track.add(at_s, room.used_bytes)
        full_s = _full_for_s(limit, room, at_s)
        if full_s >= FULL_S and at_s - limit.full_told_s >= FULL_AGAIN_S:
            limit.full_told_s = at_s
            yield self._full(room, at_s, below, lasting_s=full_s)
        growth = limit.track.growth()
        if growth is None or not growth.is_steady or at_s - limit.told_s < AGAIN_S:
            return
        left_s = growth.left_s(room.limit_bytes - room.used_bytes)
        near = room.used_bytes > USED_SHARE_MIN * room.limit_bytes
        if not near or left_s is None or left_s > LEFT_S_MAX:
            return
        grower = self._grower(below, growth.per_s)
        if any(self._is_loading(task, at_s) for task in ({grower} if grower else below)):
            return
        limit.told_s = at_s
        where: dict[str, Any] = {"at_s": at_s, "host": self._host, "task": grower}
        yield MemoryNearsLimit(
            used_bytes=room.used_bytes,
            limit_bytes=room.limit_bytes,
            growth_bytes_per_s=round(growth.per_s),
            left_s=round(left_s, 1),
            limit_of=room.cgroup,
            **where,
        )

    def _full(
        self, room: MemoryRoom, at_s: float, below: set[TaskId], *, lasting_s: float
    ) -> MemoryNearlyFull:
        known = {task: self._rss_bytes[task] for task in sorted(below) if task in self._rss_bytes}
        biggest = sorted(known, key=lambda task: -known[task])[:SHOWN_MAX]
        alone = next(iter(below)) if room.cgroup and len(below) == 1 else None
        where: dict[str, Any] = {"at_s": at_s, "host": self._host, "task": alone}
        return MemoryNearlyFull(
            used_bytes=room.used_bytes,
            limit_bytes=room.limit_bytes,
            lasting_s=round(lasting_s, 1),
            limit_of=room.cgroup,
            by_task={str(task): known[task] for task in biggest},
            **where,
        )

    def _is_loading(self, task: TaskId, at_s: float) -> bool:
        since_s = self._trained_s.get(task)
        return since_s is None or at_s - since_s < SETTLED_S

    def _grower(self, below: set[TaskId], per_s: float) -> TaskId | None:
        """Who of them grows; None where none of them does most of it."""
        found = {
            task: growth.per_s
            for task in below
            if task in self._rss and (growth := self._rss[task].growth())
        }
        biggest = max(sorted(found), key=lambda task: found[task], default=None)
        if biggest is None or found[biggest] < GROWER_SHARE * per_s:
            return None
        return biggest


def _full_for_s(limit: _Limit, room: MemoryRoom, at_s: float) -> float:
    """One look that finds room, or a time without looks, begins it anew."""
    unseen = at_s - limit.looked_s > LOOKS_APART_S_MAX
    limit.looked_s = at_s
    if room.used_bytes < FULL_SHARE * room.limit_bytes:
        limit.full_since_s = None
        return 0.0
    if limit.full_since_s is None or unseen:
        limit.full_since_s = at_s
    return at_s - limit.full_since_s

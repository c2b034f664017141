"""How much room is left where the job writes, and when it will be gone."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from holdfast.agent.watched import Watched
from holdfast.model.cluster import TaskId
from holdfast.model.facts import DiskMeasured, Fact, ProbeBlind
from holdfast.model.growth import Track
from holdfast.probes import LOCAL, mount_of
from holdfast.probes.disk import Room, RoomAsked, disks_below, room_at, written_folders

EVERY_S, REMOTE_EVERY_S = 5.0, 30.0
PLACES_EVERY_S = 60.0
WELL_AGAIN_S, SCARCE_AGAIN_S = 60.0, 5.0
SCARCE_SHARE = 0.05
TREND_S = 150.0
TREND_S_MIN, TREND_S_ENOUGH = 20.0, 45.0
TREND_SHARE = 0.25  # of the time that is left: what lasts as long as that may well go on
LEFT_S_MAX = 600.0
MOUNTS_MAX = 16


@dataclass(slots=True)
class _Place:
    """One mount to which the job writes."""

    path: str
    purpose: str
    task: TaskId | None
    device: str
    local: bool
    looked_s: float = float("-inf")
    told_s: float = float("-inf")
    asked: RoomAsked | None = None
    was_silent: bool = False
    track: Track = field(default_factory=lambda: Track(over_s_max=TREND_S))


class DiskLook:
    def __init__(self, host: str, folders: Sequence[tuple[str, str]]) -> None:
        self._host = host
        self._folders = folders
        self._places: dict[str, _Place] = {}  # by mount point
        self._places_s = float("-inf")

    def look(self, tasks: Mapping[TaskId, Watched], at_s: float) -> Iterator[Fact]:
        if at_s - self._places_s >= PLACES_EVERY_S:
            self._places_s = at_s
            self._find(tasks)
        for place in self._places.values():
            every_s = EVERY_S if place.local else REMOTE_EVERY_S
            if place.asked is not None:
                yield from self._hear(place, at_s)
            elif at_s - place.looked_s >= every_s:
                place.looked_s = at_s
                if place.local:
                    yield from self._measured(place, room_at(place.path), at_s)
                else:
                    place.asked = RoomAsked(place.path)

    def _find(self, tasks: Mapping[TaskId, Watched]) -> None:
        for path, purpose in self._folders:
            self._add(path, purpose, None)
        for task, watched in tasks.items():
            if watched.state != "D":
                for path in dict.fromkeys(written_folders(watched.main)):
                    self._add(path, "work", task)
        for watched in tasks.values():
            for path in disks_below(watched.main):
                self._add(path, "work", None)  # it may be anybody who writes there

    def _add(self, path: str, purpose: str, task: TaskId | None) -> None:
        mount = mount_of(path)
        if mount is None or mount.point in self._places or len(self._places) >= MOUNTS_MAX:
            return
        device = os.path.basename(mount.source)  # noqa: PTH119 - a name
        self._places[mount.point] = _Place(path, purpose, task, device, mount.kind in LOCAL)

    def _hear(self, place: _Place, at_s: float) -> Iterator[Fact]:
        assert place.asked is not None
        if not place.asked.is_answered():
            return
        room = place.asked.answer()
        waited_s, place.asked = place.asked.waited_s, None
        if room is None and not place.was_silent:
            place.was_silent = True
            why = f"no answer within {waited_s:.0f} s: the file system may hang"
            where: dict[str, Any] = {"at_s": at_s, "host": self._host, "task": place.task}
            yield ProbeBlind(probe=f"room at {place.path}", why=why, **where)
        yield from self._measured(place, room, at_s)

    def _measured(self, place: _Place, room: Room | None, at_s: float) -> Iterator[Fact]:
        if room is None:
            return
        place.was_silent = False
        if place.track.last == -room.free_bytes:
            place.track = Track(over_s_max=TREND_S)  # what stood still begins anew
        place.track.add(at_s, -room.free_bytes)
        left_s = self._left_s(place, room)
        scarce = room.free_bytes < SCARCE_SHARE * room.total_bytes or left_s >= 0
        if at_s - place.told_s < (SCARCE_AGAIN_S if scarce else WELL_AGAIN_S):
            return
        place.told_s = at_s
        where: dict[str, Any] = {"at_s": at_s, "host": self._host, "task": place.task}
        yield DiskMeasured(
            path=place.path,
            free_bytes=room.free_bytes,
            total_bytes=room.total_bytes,
            free_inodes=room.free_inodes,
            total_inodes=room.total_inodes,
            purpose=place.purpose,
            device=place.device,
            left_s=left_s,
            **where,
        )

    def _left_s(self, place: _Place, room: Room) -> float:
        """Until it is full; -1 where that is far away, or cannot be known."""
        growth = place.track.growth()
        left_s = growth.left_s(room.free_bytes) if growth and growth.is_steady else None
        if growth is None or left_s is None or left_s >= LEFT_S_MAX:
            return -1.0
        needed_s = min(max(TREND_S_MIN, TREND_SHARE * left_s), TREND_S_ENOUGH)
        return round(left_s, 1) if growth.over_s >= needed_s else -1.0

"""Who will soon have as many files open as it may: told while there is still time."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from holdfast.agent.watched import Watched
from holdfast.model.cluster import TaskId
from holdfast.model.growth import Track
from holdfast.model.watch_facts import FilesNearLimit
from holdfast.probes.process import open_files_limit
from holdfast.probes.usage import open_files

EVERY_S = 2.5
AGAIN_S = 10.0
NEAR_SHARE = 0.9
GROWING_SHARE = 0.3  # of the limit: what a start opens is less, and soon over
LEFT_S_MAX = 120.0


@dataclass(slots=True)
class _Task:
    pid: int
    track: Track = field(default_factory=Track)
    told_s: float = float("-inf")


class FilesLook:
    def __init__(self, host: str) -> None:
        self._host = host
        self._looked_s = float("-inf")
        self._tasks: dict[TaskId, _Task] = {}

    def look(self, tasks: Mapping[TaskId, Watched], at_s: float) -> Iterator[FilesNearLimit]:
        if at_s - self._looked_s < EVERY_S:
            return
        self._looked_s = at_s
        for gone in self._tasks.keys() - tasks.keys():
            del self._tasks[gone]
        for task, watched in tasks.items():
            known = self._tasks.get(task)
            if known is None or known.pid != watched.main:
                known = self._tasks[task] = _Task(watched.main)
            limit = open_files_limit(watched.main)
            used = open_files([watched.main])
            known.track.add(at_s, used)
            left_s = _left_s(known.track, used, limit) if limit else None
            if limit and left_s is not None and at_s - known.told_s >= AGAIN_S:
                known.told_s = at_s
                yield FilesNearLimit(
                    at_s=at_s,
                    host=self._host,
                    task=task,
                    pid=watched.main,
                    used=used,
                    limit=limit,
                    left_s=round(left_s, 1),
                )


def _left_s(track: Track, used: int, limit: int) -> float | None:
    """Until the limit; 0 where it is near and nothing grows; None: there is nothing to tell."""
    growth = track.growth()
    left_s = growth.left_s(limit - used) if growth and growth.is_steady else None
    if left_s is not None and left_s <= LEFT_S_MAX and used >= GROWING_SHARE * limit:
        return left_s
    return 0.0 if used >= NEAR_SHARE * limit else None

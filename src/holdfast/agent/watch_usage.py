"""What each task's processes use: seldom while all is well, often while something is short."""

import os
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from holdfast.agent.rates import NOT_KNOWN, rate
from holdfast.agent.watched import Watched
from holdfast.model.cluster import TaskId
from holdfast.model.core_list import core_list
from holdfast.model.facts import Fact
from holdfast.model.watch_facts import TaskSampled
from holdfast.probes.flows import Flow, storage_flow
from holdfast.probes.held import waits_in
from holdfast.probes.usage import (
    ProcessUse,
    ThreadUse,
    Throttled,
    all_threads_use,
    cores_of,
    open_files,
    process_use,
    thread_use,
    throttled,
)

EVERY_S = 5.0  # between two measurements
SHORT_S = 10.0  # what is called now
BUSY_AGAIN_S, WELL_AGAIN_S = 20.0, 60.0
POINTS_MAX = 16
STARVED, THROTTLED, STORAGE = 0.3, 0.2, 0.5  # shares of the time that are worth a fact
PS_BUSY = 0.5  # of a core
WANTED = 0.2  # of a core: less than this is not worth to be asked about


@dataclass(frozen=True, slots=True)
class _Point:
    at_s: float
    state: str  # the kernel's letter
    cpu_s: float
    main: ThreadUse | None
    quota: Throttled | None
    counted_s: float  # waiting for storage, by the kernel
    storage_s: float  # the same, by our looks where the kernel does not count


@dataclass(slots=True)
class _Track:
    pid: int
    points: deque[_Point] = field(default_factory=lambda: deque(maxlen=POINTS_MAX))
    told_s: float | None = None
    was_short: bool = False
    threads: tuple[float, ThreadUse] | None = None  # all of them, and when
    threads_share: float = 0.0  # of the time they wanted to run, how much they waited
    looks: int = 0  # since the last measurement
    stuck: int = 0  # of them found it waiting for storage
    storage: tuple[float, Flow] | None = None  # when the last fact was made


class UsageLook:
    def __init__(self, host: str) -> None:
        self._host = host
        self._tracks: dict[TaskId, _Track] = {}

    def look(
        self, tasks: Mapping[TaskId, Watched], at_s: float, *, crowded: bool
    ) -> Iterator[Fact]:
        """`crowded`: the host's cores are all busy, so that it matters who waits for one."""
        for task in self._tracks.keys() - tasks.keys():
            del self._tracks[task]
        busy_ps = any(self._is_busy_ps(task) for task in tasks)
        for task, watched in tasks.items():
            track = self._tracks.get(task)
            if track is None or track.pid != watched.main:
                track = self._tracks[task] = _Track(watched.main)
            track.looks += 1
            track.stuck += watched.state == "D"
            if track.points and at_s - track.points[-1].at_s < EVERY_S:
                continue
            fact = self._measure(task, watched, track, at_s, crowded=crowded, busy_ps=busy_ps)
            if fact is not None:
                yield fact

    def _is_busy_ps(self, task: TaskId) -> bool:
        track = self._tracks.get(task)
        if task.role != "ps" or track is None or len(track.points) < 2:  # noqa: PLR2004
            return False
        if track.was_short:
            return True
        first, last = _short(track.points)
        return (last.cpu_s - first.cpu_s) / (last.at_s - first.at_s) >= PS_BUSY

    def _measure(
        self,
        task: TaskId,
        watched: Watched,
        track: _Track,
        at_s: float,
        *,
        crowded: bool,
        busy_ps: bool,
    ) -> Fact | None:
        use = process_use(watched.main)
        if use is None:
            return None
        quota = throttled(watched.main)
        storage_s = 0.0
        if track.points:
            before = track.points[-1]
            stuck_s = (at_s - before.at_s) * track.stuck / track.looks
            storage_s = before.storage_s + max(use.storage_s - before.counted_s, stuck_s)
        track.looks = track.stuck = 0
        track.points.append(
            _Point(
                at_s=at_s,
                state=watched.state,
                cpu_s=watched.cpu_s,
                main=thread_use(watched.main),
                quota=quota,
                counted_s=use.storage_s,
                storage_s=storage_s,
            )
        )
        _look_at_threads(track, at_s, worth=crowded or quota is not None)
        return self._tell(task, watched, track, use, busy_ps=busy_ps)

    def _tell(
        self, task: TaskId, watched: Watched, track: _Track, use: ProcessUse, *, busy_ps: bool
    ) -> Fact | None:
        first, last = _short(track.points)
        if last.at_s - first.at_s < SHORT_S - 1:
            return None
        shares = _shares(first, last)
        short = (
            shares["starved_share"] >= STARVED
            or track.threads_share >= STARVED
            or shares["throttled_share"] >= THROTTLED
            or shares["storage_share"] >= STORAGE
        )
        again_s = BUSY_AGAIN_S if busy_ps else WELL_AGAIN_S
        due = track.told_s is None or last.at_s - track.told_s >= again_s - 1
        if not (short or track.was_short or due):
            return None
        if not short and due and track.told_s is not None:
            first = next(point for point in track.points if point.at_s >= track.told_s)
            shares = _shares(first, last)
        track.told_s, track.was_short = last.at_s, short
        return self._fact(task, watched, (first, last), use, shares)

    def _fact(
        self,
        task: TaskId,
        watched: Watched,
        span: tuple[_Point, _Point],
        use: ProcessUse,
        shares: dict[str, Any],
    ) -> TaskSampled:
        first, last = span
        over_s = last.at_s - first.at_s
        where: dict[str, Any] = {"at_s": last.at_s, "host": self._host, "task": task}
        others = [one for pid in watched.pids if pid != watched.main and (one := process_use(pid))]
        return TaskSampled(
            pid=watched.main,
            state=watched.state,
            over_s=round(over_s, 3),
            cpu_share=_share(last.cpu_s - first.cpu_s, over_s),
            rss_bytes=use.rss_bytes + sum(one.rss_bytes for one in others),
            threads=use.threads,
            files=open_files([watched.main]),
            waits_in=waits_in(watched.main),
            quota_cores=round(last.quota.cores, 2) if last.quota else 0.0,
            quota_of=last.quota.cgroup if last.quota else "",
            threads_starved_share=round(self._tracks[task].threads_share, 3),
            runs_on=_runs_on(watched.main),
            **_storage_rates(self._tracks[task], watched, last.at_s),
            **shares,
            **where,
        )


def _runs_on(pid: int) -> str:
    """Worth a word only where it is not all of the host."""
    cores = cores_of(pid)
    return core_list(cores) if 0 < len(cores) < (os.cpu_count() or 1) else ""


def _storage_rates(track: _Track, watched: Watched, at_s: float) -> dict[str, Any]:
    """What all its processes read from storage and wrote for it, since the fact before."""
    before, now = track.storage, storage_flow(watched.pids)
    track.storage = (at_s, now) if now else None
    if before is None or now is None:
        return {"read_bytes_per_s": NOT_KNOWN, "written_bytes_per_s": NOT_KNOWN}
    over_s = at_s - before[0]
    return {
        "read_bytes_per_s": rate(before[1].into, now.into, over_s),
        "written_bytes_per_s": rate(before[1].out, now.out, over_s),
    }


def _look_at_threads(track: _Track, at_s: float, *, worth: bool) -> None:
    """A server's main thread only waits, so others speak for it. They may be hundreds."""
    if not worth:
        track.threads, track.threads_share = None, 0.0
        return
    if track.threads is not None and at_s - track.threads[0] < SHORT_S - 1:
        return
    before, now = track.threads, all_threads_use(track.pid)
    track.threads = (at_s, now)
    if before is None:
        return
    waited_s = now.wanted_s - before[1].wanted_s
    wanted_s = waited_s + now.on_core_s - before[1].on_core_s
    # A few threads that hardly ever want to run say nothing.
    enough = wanted_s >= WANTED * (at_s - before[0])
    track.threads_share = max(0.0, waited_s / wanted_s) if enough else 0.0


def _short(points: deque[_Point]) -> tuple[_Point, _Point]:
    """The newest point, and the youngest that is long enough ago."""
    last = points[-1]
    old = [point for point in points if last.at_s - point.at_s >= SHORT_S - 1]
    return (old[-1] if old else points[0]), last


def _shares(first: _Point, last: _Point) -> dict[str, Any]:
    over_s = last.at_s - first.at_s
    main = kept_s = on_core_s = 0.0
    if first.main and last.main:
        # The kernel counts a wait when it is over: what it adds may have begun before.
        main = min(last.main.wanted_s - first.main.wanted_s, over_s)
        on_core_s = last.main.on_core_s - first.main.on_core_s
        if first.state == last.state == "R" and not on_core_s:
            main = over_s  # the kernel counts it only when it gets a core at last
    if first.quota and last.quota and first.quota.cgroup == last.quota.cgroup:
        longest_s = (last.quota.times - first.quota.times) * last.quota.period_s
        # It is counted for each core: no period can keep anybody for longer than it lasts.
        kept_s = min(last.quota.throttled_s - first.quota.throttled_s, longest_s)
    return {
        "starved_share": _share(main, over_s),
        "main_cpu_share": _share(on_core_s, over_s),
        "throttled_share": _share(kept_s, over_s),
        "storage_share": _share(last.storage_s - first.storage_s, over_s),
    }


def _share(part_s: float, whole_s: float) -> float:
    return round(max(0.0, part_s / whole_s), 3)

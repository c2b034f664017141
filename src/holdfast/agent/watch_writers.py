"""Who writes which summaries, checkpoints and HDF5 files, also where each write is a moment long.

Every few seconds all open files of the tasks are looked at. Between these looks the kernel tells
when something is made or opened in a folder that a task may write to; then who has it open is
looked at closely, some times within a moment. The kernel's word alone proves nothing of anybody.
"""

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from holdfast.agent.watched import Watched
from holdfast.agent.written_places import Places, Rung
from holdfast.model.cluster import TaskId
from holdfast.model.facts import Fact
from holdfast.model.watch_facts import FileWritten, FolderWritten
from holdfast.probes import LOCAL, mount_of, open_files
from holdfast.probes.guarded import is_guarded
from holdfast.probes.inotify import Inotify
from holdfast.probes.likely_folders import folders_below, named_folders, names_in
from holdfast.probes.written_files import (
    WrittenFile,
    folder_written,
    is_hdf5_name,
    is_worth_a_look,
    seen_again,
    written_files,
)

EVERY_S = 5.0
PAUSES_S = (0.0, 0.002, 0.004, 0.008, 0.016, 0.03)  # before each of the close looks
SURE_S = 0.001  # HDF5 opens a file, and locks it a moment later
OVERLAPS_MIN = 2  # files that are closed and opened in turns may look so once
PROCESSES_MAX = 8  # of one task
TOLD_MAX = 16  # folders, and files, of one task
WALKED_MAX, OVERLAPS_KEPT = 1_000, 64  # folders; files that were open twice
# Of a core: what close looks may use at once, and how fast that comes back.
CPU_S_MAX, CPU_SHARE = 0.2, 0.002

Place = tuple[str, int]  # a path and its inode
OpenNow = Callable[[Watched, int], Iterable[tuple[str, str]]]  # of a process of a task


@dataclass(slots=True)
class _Task:
    """What was told of a task."""

    folders: set[tuple[str, str]] = field(default_factory=set)
    files: dict[str, frozenset[TaskId]] = field(default_factory=dict)  # path -> who beside it
    main: int = 0  # whose likely folders are known


class WritersLook:
    """OSError where nothing can be heard of files."""

    def __init__(self, host: str, *, but: str) -> None:
        """`but`: a folder of ours, in which no task writes."""
        self._host, self._but = host, but
        self._inotify = Inotify()
        self._places = Places(self._inotify)
        self._tasks: dict[TaskId, _Task] = {}
        self._overlaps: dict[Place, dict[TaskId, int]] = {}
        self._walked: set[str] = set()
        self._looked_s = self._filled_s = float("-inf")
        self._cpu_left_s = CPU_S_MAX

    @property
    def fd(self) -> int:
        """Readable when something has happened at a place."""
        return self._inotify.fd

    def look(self, tasks: Mapping[TaskId, Watched], at_s: float) -> Iterator[Fact]:
        for gone in self._tasks.keys() - tasks.keys():
            del self._tasks[gone]
        self._fill(at_s)
        for task, watched in tasks.items():
            self._listen_to(task, watched)
        if self._cpu_left_s > 0:
            self._places.arm(at_s)
        if at_s - self._looked_s >= EVERY_S:
            self._looked_s = at_s
            yield from self._look_once(tasks, at_s, Watched.open_files)

    def begin(self, task: TaskId, watched: Watched, at_s: float) -> None:
        """Of a task that has just started: it may be over before the next look."""
        self._listen_to(task, watched)
        self._places.arm(at_s)

    def hear(self, tasks: Mapping[TaskId, Watched], at_s: float) -> list[Fact]:
        """Something has happened at a place: who has what open there, before it is closed."""
        began_s = time.process_time()
        self._fill(at_s)
        rung = [*self._places.hear()]
        worth = [one for one in rung if self._is_worth(one)]
        facts = [*self._look_closely(tasks, at_s)] if worth else []
        for one in worth:
            self._places.rest(one.place, at_s, news=bool(facts))
        self._cpu_left_s -= time.process_time() - began_s
        if self._cpu_left_s > 0:
            self._places.arm(at_s)
        return facts

    def _fill(self, at_s: float) -> None:
        back_s = CPU_SHARE * max(0.0, at_s - self._filled_s)
        self._filled_s = at_s
        self._cpu_left_s = min(CPU_S_MAX, self._cpu_left_s + back_s)

    def _listen_to(self, task: TaskId, watched: Watched) -> None:
        known = self._tasks.setdefault(task, _Task())
        if known.main == watched.main:
            return
        for folder in named_folders(watched.main):  # none while it is still being started
            known.main = watched.main
            self._walk(folder)

    def _walk(self, folder: str) -> None:
        """Listen in a folder, and in those below it."""
        if folder not in self._walked and len(self._walked) < WALKED_MAX:
            self._walked.add(folder)
            for below in folders_below(folder):
                if not f"{below}/".startswith(f"{self._but}/"):
                    self._places.add(below)

    def _is_worth(self, rung: Rung) -> bool:
        """Whether a close look may see who it was."""
        if rung.place.is_file:
            return True
        if is_hdf5_name(rung.name) and not rung.is_folder:
            self._places.add(rung.path, is_file=True)
            return True
        if is_worth_a_look(rung.name):
            return rung.is_made
        if rung.is_made and rung.is_folder:
            self._walk(rung.path)
            return any(map(is_worth_a_look, names_in(rung.path)))
        return False

    def _look_closely(self, tasks: Mapping[TaskId, Watched], at_s: float) -> Iterator[Fact]:
        until_s = time.process_time() + self._cpu_left_s
        for pause_s in PAUSES_S:
            if time.process_time() >= until_s:
                return
            time.sleep(pause_s)
            yield from self._look_once(tasks, at_s, lambda _, pid: open_files(pid))

    def _look_once(
        self, tasks: Mapping[TaskId, Watched], at_s: float, open_now: OpenNow
    ) -> Iterator[Fact]:
        # Of whom the least is known comes first: a moment may be over soon.
        order = sorted(tasks, key=lambda task: len(self._tasks.setdefault(task, _Task()).folders))
        seen = [
            (task, file)
            for task in order
            for pid in tasks[task].pids[:PROCESSES_MAX]
            for file in written_files(pid, open_now(tasks[task], pid))
        ]
        hdf5 = [(task, file) for task, file in seen if file.is_hdf5]
        for place, writers in _unlocked(hdf5).items():
            yield from self._file_facts(place, writers, at_s)
        for task, file in seen:
            yield from self._folder_facts(task, file.path, at_s)

    def _folder_facts(self, task: TaskId, path: str, at_s: float) -> Iterator[Fact]:
        """Each folder once: whether others write there, too, is not for one host to say."""
        what, folder = folder_written(path)
        known = self._tasks[task].folders
        if not what or (what, folder) in known or len(known) >= TOLD_MAX:
            return
        server = self._server_of(folder)
        if server is not None:
            known.add((what, folder))
            where: dict[str, Any] = {"at_s": at_s, "host": self._host, "task": task}
            yield FolderWritten(what=what, folder=folder, server=server, **where)

    def _file_facts(
        self, place: Place, writers: Mapping[TaskId, int], at_s: float
    ) -> Iterator[Fact]:
        """Each writer once, and again when it was seen to write beside others."""
        path = place[0]
        server = self._server_of(os.path.dirname(path))  # noqa: PTH120 - as every look
        if server is None or (server and any(map(is_guarded, writers.values()))):
            return
        if not server:
            self._places.add(path, is_file=True, sure=True)
        at_once = self._at_once(place, writers) if len(writers) > 1 else set()
        for task in writers:
            files = self._tasks[task].files
            others = files.get(path, frozenset()) | (at_once - {task} if task in at_once else set())
            if files.get(path) == others or (path not in files and len(files) >= TOLD_MAX):
                continue
            files[path] = others
            where: dict[str, Any] = {"at_s": at_s, "host": self._host, "task": task}
            beside = tuple(map(str, sorted(others)))
            yield FileWritten(path=path, server=server, beside=beside, **where)

    def _at_once(self, place: Place, writers: Iterable[TaskId]) -> set[TaskId]:
        """Who was seen often enough with the file open while another had it open, too."""
        counts = self._overlaps.setdefault(place, {})
        for task in writers:
            counts[task] = counts.get(task, 0) + 1
        if len(self._overlaps) > OVERLAPS_KEPT:
            del self._overlaps[next(iter(self._overlaps))]
        return {task for task in writers if counts[task] >= OVERLAPS_MIN}

    def _server_of(self, folder: str) -> str | None:
        """Empty where it is of this host, which then listens there; None: nobody knows."""
        mount = mount_of(folder)
        if mount is None:
            return None
        if mount.kind in LOCAL:
            self._places.add(folder, sure=True)
            return ""
        return mount.source


def _unlocked(seen: Iterable[tuple[TaskId, WrittenFile]]) -> dict[Place, dict[TaskId, int]]:
    """Files that nobody has locked, and the process of each task that has them open.

    Who has just opened one may be about to lock it, or to be refused: what holds, holds a
    moment later, too.
    """
    by_place: dict[Place, list[tuple[TaskId, WrittenFile]]] = {}
    for task, file in seen:
        by_place.setdefault((file.path, file.inode), []).append((task, file))
    free = {
        place: some for place, some in by_place.items() if not any(file.locked for _, file in some)
    }
    if free:
        time.sleep(SURE_S)
    return {
        place: still
        for place, some in free.items()
        if (still := {task: file.pid for task, file in some if _is_same(file)})
    }


def _is_same(file: WrittenFile) -> bool:
    return seen_again(file.pid, file.descriptor, file.path) == file

"""Exceptions that a task logs into a file of its own, where its output says nothing of them."""

import math
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from holdfast.agent.watched import Watched
from holdfast.model.cluster import TaskId
from holdfast.model.origin import origin_of
from holdfast.model.redact import redact
from holdfast.model.steps import without_escapes
from holdfast.model.told_facts import ExceptionLogged
from holdfast.model.tracebacks import HEADER, LINKS, Traceback, TracebackReader
from holdfast.probes.own_logs import Inode, OwnLog, OwnLogs
from holdfast.probes.process import began_unix_s, stat_of

YOUNG_S, FIND_EVERY_S = 60.0, 5.0  # most programs open their logs when they begin
TELL_AGAIN_S = 30.0
PROCESSES_MAX = 8  # of one task
KINDS_MAX = 20  # exceptions of one task at different lines
RECORD_LENGTH_MAX = 200
MESSAGE_LENGTH_MAX = 2_000
FRAMES_MAX = 40
STORAGE = "D"  # who waits for storage would have us wait there, too


@dataclass(frozen=True, slots=True)
class _Ended:
    """A whole traceback, and what the program says of it."""

    traceback: Traceback
    record: str


@dataclass(slots=True)
class _Reading:
    """Where in a file we are: in a traceback, or what stood above it."""

    record: str = ""  # of the traceback that is read, or was last read
    above: str = ""  # the newest line that belongs to no traceback
    reader: TracebackReader | None = None
    is_linked: bool = False  # the next traceback continues the last one

    def take(self, line: str) -> _Ended | None:
        """The traceback that this line ends."""
        if self.reader is not None and self.reader.take(line):
            return None
        ended = self.end()
        text = line.strip()
        if text.endswith(HEADER):
            # What the program says of a chain stands above the first.
            if not self.is_linked:
                self.record = text.removesuffix(HEADER).strip() or self.above
            self.reader, self.is_linked = TracebackReader(), False
        elif text in LINKS:
            self.is_linked = True
        elif text:
            self.above, self.is_linked = text, False
        return ended

    def end(self) -> _Ended | None:
        reader, self.reader = self.reader, None
        if reader is None:
            return None
        if len(reader.message) > 1:  # a record of a form that we do not know looks like more of it
            self.above = reader.message[-1].strip()
        found = reader.result()
        return _Ended(found, self.record) if found else None

    @property
    def is_whole(self) -> bool:
        """Whether the exception's own line has come: a logger writes a record at once."""
        return self.reader is not None and bool(self.reader.exception)


@dataclass(slots=True)
class _Kind:
    """An exception of one line of the program, in one file."""

    fact: ExceptionLogged
    times: int = 0
    told: int = 0
    told_s: float = 0.0


@dataclass(slots=True)
class _Task:
    since_s: float
    logs: OwnLogs
    readings: dict[int, _Reading] = field(default_factory=dict)
    kinds: dict[tuple[str, str, str], _Kind] = field(default_factory=dict)
    found_s: float = float("-inf")


class LoggedLook:
    """Follows the logs that tasks hold open; tells each exception once, and then how often."""

    def __init__(self, host: str) -> None:
        self._host = host
        self._tasks: dict[TaskId, _Task] = {}

    def look(self, tasks: Mapping[TaskId, Watched], at_s: float) -> Iterator[ExceptionLogged]:
        for task, watched in tasks.items():
            if watched.state == STORAGE:
                continue
            known = self._tasks.get(task)
            if known is None:
                known = self._tasks[task] = _Task(at_s, OwnLogs(_began_unix_s(watched)))
            every_s = 0.0 if at_s - known.since_s < YOUNG_S else FIND_EVERY_S
            if at_s - known.found_s >= every_s:
                known.found_s = at_s
                streams = _inodes(watched)
                for pid in watched.pids[:PROCESSES_MAX]:
                    known.logs.find(pid, watched.open_files(pid), streams)
            yield from self._read(task, known, at_s)

    def last_words(self, task: TaskId, at_s: float) -> list[ExceptionLogged]:
        """Of a task that has just ended: what came after the last look."""
        known = self._tasks.pop(task, None)
        if known is None:
            return []
        facts = [*self._read(task, known, at_s, is_end=True)]
        known.logs.close()
        return facts

    def _read(
        self, task: TaskId, known: _Task, at_s: float, *, is_end: bool = False
    ) -> Iterator[ExceptionLogged]:
        where: dict[str, Any] = {"at_s": at_s, "host": self._host, "task": task}
        for log in known.logs.texts():
            reading = known.readings.setdefault(log.fd, _Reading())
            lines = log.new_lines()
            for line in lines if log.is_text else ():
                _count(known, log, reading.take(line), where)
            if is_end or reading.is_whole:
                _count(known, log, reading.end(), where)
        for kind in known.kinds.values():
            again = is_end or not kind.told or at_s - kind.told_s >= TELL_AGAIN_S
            if kind.times > kind.told and again:
                kind.told, kind.told_s = kind.times, at_s
                yield _with_times(kind.fact, kind.times, where)


def _count(known: _Task, log: OwnLog, ended: _Ended | None, where: dict[str, Any]) -> None:
    if ended is None:
        return
    found = ended.traceback
    key = (log.path, found.exception, origin_of(found).at)
    if key not in known.kinds and len(known.kinds) < KINDS_MAX:
        known.kinds[key] = _Kind(
            ExceptionLogged(
                path=log.path,
                exception=found.exception,
                message=_clean(found.message)[:MESSAGE_LENGTH_MAX],
                frames=tuple(map(_clean, found.frames[-FRAMES_MAX:])),
                record=_clean(ended.record)[:RECORD_LENGTH_MAX],
                **where,
            )
        )
    if key in known.kinds:
        known.kinds[key].times += 1


def _with_times(fact: ExceptionLogged, times: int, where: dict[str, Any]) -> ExceptionLogged:
    return replace(fact, times=times, **where)


def _clean(text: str) -> str:
    return redact(without_escapes(text))


def _began_unix_s(watched: Watched) -> float:
    """Infinite: it is gone, and nobody can say what was its own."""
    found = stat_of(watched.pid)
    return began_unix_s(found) if found else math.inf


def _inodes(watched: Watched) -> list[Inode]:
    """Of its output, which is read by others."""
    found = [os.fstat(fd) for fd in watched.streams.values()]
    return [(one.st_dev, one.st_ino) for one in found]

"""Shows a run while it lives: follows its logs and its journal, and never holds anybody up."""

import json
import os
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from holdfast.logdir.journal import follow_journal
from holdfast.logdir.run_dir import RunDir, log_name
from holdfast.model.cluster import TaskId
from holdfast.model.errors import MissingInput
from holdfast.model.facts import (
    AttemptEnded,
    Fact,
    SignalSent,
    StopAsked,
    TaskExited,
    TaskNotStarted,
    TaskStarted,
)
from holdfast.model.signals import signal_name
from holdfast.views.lines import LineAssembler
from holdfast.views.live import Screen, TaskMark, status_text

CHUNK_BYTES = 64 * 1024
BEHIND_BYTES_MAX = 1 << 20  # a terminal: nobody reads that fast
PIPE_BEHIND_BYTES_MAX = 64 << 20  # a pipe: somebody may want it all
SKIP_CHUNK_BYTES = 1 << 20
ROOM_LINES = 512
FINDINGS_BYTES_MAX = 1 << 20
SAY_SKIPPED_EVERY_S = 2.0


@dataclass(slots=True)
class Followed:
    task: TaskId
    stream: str
    fd: int
    offset: int = 0
    lines: LineAssembler = field(default_factory=LineAssembler)
    skipped: int = 0
    said_s: float = float("-inf")


class Watch:
    def __init__(
        self,
        run_dir: RunDir,
        tasks: Sequence[TaskId],
        screen: Screen,
        *,
        shown: Collection[TaskId],
        is_tty: bool,
    ) -> None:
        self._run_dir = run_dir
        self._screen = screen
        self._shown = tuple(task for task in tasks if task in shown)
        self._behind_max = BEHIND_BYTES_MAX if is_tty else PIPE_BEHIND_BYTES_MAX
        self._journal = follow_journal(run_dir)
        self._marks = {task: TaskMark(task=str(task), mark="·") for task in tasks}
        self._told: set[TaskId | None] = set()
        self._followed: dict[tuple[TaskId, str], Followed] = {}
        self._findings_read = 0
        self.ended: AttemptEnded | None = None

    def step(self, at_s: float, *, width: int) -> bool:
        """Show what is new; whether there was anything."""
        busy = self._follow_journal()
        if busy and self.ended is None:
            self._follow_findings()
        self._open_logs()
        for followed in self._followed.values():
            busy = self._follow(followed, at_s) or busy
        words = " · Ctrl-C to stop"
        if all(mark.mark in {"✓", "✗", "■"} for mark in self._marks.values()):
            words = " · reading the rest of the output"
        status = status_text(self._marks.values(), elapsed_s=at_s, width=width - len(words) - 1)
        self._screen.set_status(status + words if width > len(words) * 3 else status)
        return busy

    def drain(self, at_s: float, *, width: int) -> bool:
        """After the end: whether something is left to show."""
        if self.step(at_s, width=width):
            return True
        for followed in self._followed.values():
            self._say_skipped(followed, float("inf"))
            self._screen.show(str(followed.task), followed.lines.end(at_s=at_s))
        return False

    def _follow_journal(self) -> bool:
        fresh = self._journal.fresh()
        for fact in fresh:
            if isinstance(fact, AttemptEnded):
                self.ended = fact
            elif isinstance(fact, SignalSent):
                self._told.add(fact.task)
            elif isinstance(fact, StopAsked):
                self._told.update(self._marks)
            elif fact.task in self._marks:
                self._marks[fact.task] = self._mark(fact, self._marks[fact.task])
        return bool(fresh)

    def _follow_findings(self) -> None:
        """A finding is worth a word when it is made; the whole report comes at the end."""
        try:
            fd = os.open("findings.jsonl", os.O_RDONLY | os.O_NOFOLLOW, dir_fd=self._run_dir.fd)
        except FileNotFoundError:
            return
        try:
            fresh = os.pread(fd, FINDINGS_BYTES_MAX, self._findings_read)
        finally:
            os.close(fd)
        whole = fresh[: fresh.rfind(b"\n") + 1]
        self._findings_read += len(whole)
        for line in whole.splitlines():
            finding = json.loads(line)
            fixes = [f"   = fix      {fix}" for fix in finding["do"]]
            headline = f"{finding['severity']}[{finding['cause']}]: {finding['says']}"
            self._screen.say([headline, *fixes])

    def _mark(self, fact: Fact, old: TaskMark) -> TaskMark:
        if isinstance(fact, TaskStarted):
            return TaskMark(task=old.task, mark="●")
        if isinstance(fact, TaskNotStarted):
            return TaskMark(task=old.task, mark="✗", words="not started")
        if isinstance(fact, TaskExited):
            if fact.exit_code == 0:
                return TaskMark(task=old.task, mark="✓")
            if fact.task in self._told:
                return TaskMark(task=old.task, mark="■")
            how = signal_name(fact.signal) if fact.signal else f"exit {fact.exit_code}"
            return TaskMark(task=old.task, mark="✗", words=how)
        return old

    def _open_logs(self) -> None:
        if len(self._followed) == 2 * len(self._shown):
            return
        for task in self._shown:
            for stream in ("out", "err"):
                if (task, stream) in self._followed:
                    continue
                try:
                    fd = self._run_dir.open_log(task, 1, stream)
                except MissingInput:
                    return  # the supervisor has not made them yet
                self._followed[(task, stream)] = Followed(task, stream, fd)

    def _follow(self, followed: Followed, at_s: float) -> bool:
        behind = os.fstat(followed.fd).st_size - followed.offset
        if behind > self._behind_max:
            self._skip(followed, behind - CHUNK_BYTES)
        self._say_skipped(followed, at_s)
        if not self._screen.has_room(ROOM_LINES):
            return False
        chunk = os.pread(followed.fd, CHUNK_BYTES, followed.offset)
        followed.offset += len(chunk)
        lines = followed.lines
        self._screen.show(
            str(followed.task),
            lines.feed(chunk, at_s=at_s) if chunk else lines.tick(at_s=at_s),
        )
        return bool(chunk)

    def _skip(self, followed: Followed, distance: int) -> None:
        """Jump towards the end; the lines passed over are counted."""
        followed.skipped += 1
        until = followed.offset + distance
        while followed.offset < until:
            size = min(SKIP_CHUNK_BYTES, until - followed.offset)
            chunk = os.pread(followed.fd, size, followed.offset)
            if not chunk:
                break
            followed.offset += len(chunk)
            followed.skipped += chunk.count(b"\n")

    def _say_skipped(self, followed: Followed, at_s: float) -> None:
        if followed.skipped and at_s - followed.said_s >= SAY_SKIPPED_EVERY_S:
            name = log_name(followed.task, 1, followed.stream)
            self._screen.say([f"… {followed.skipped:,} lines were not shown here; see {name}"])
            followed.skipped, followed.said_s = 0, at_s

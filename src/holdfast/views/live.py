"""The live view of `holdfast run`: every task's lines, and one status line below them."""

import threading
import time
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import inf
from typing import Final

from holdfast.views.outlet import Outlet
from holdfast.views.page import GREEN, SEVERITY_COLOURS
from holdfast.views.sanitise import cells, clip, plain

LINES_QUEUED_MAX: Final = 4096
BYTES_QUEUED_MAX: Final = 2 << 20
BATCH_BYTES_MAX: Final = 16 << 10
LOOK_UP_EVERY_S: Final = 1.0  # how often an idle writer sees whether the program is over
ABANDONED_DRAIN_S: Final = 1.0  # the program ended without close()
_SPARE_S: Final = 1.0  # what a join may take beyond the drain

_COLOURS: Final = ("36", "33", "35", "32", "34", "96", "93", "95", "92", "94")
_CLEAR: Final = b"\r\x1b[K"
SEPARATOR: Final = " · "
NEWS_CELLS_MIN: Final = 30  # less of a sentence says nothing
IN_TROUBLE: Final = frozenset({"!", "✗"})


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskMark:
    """How one task stands, in the status line."""

    task: str
    mark: str = "●"
    words: str = ""


def status_text(
    marks: Iterable[TaskMark], *, elapsed_s: float, width: int, words: str = "", news: str = ""
) -> str:
    """`ps:0 ● worker:0 ✗ SIGKILL · 00:42 · words`; when it is too long, the clock stays.

    The news are shown where there is room for their beginning at least. While there are any, the
    words have only the room that is left.
    """
    minutes, seconds = divmod(max(0, int(elapsed_s)), 60)
    hours, minutes = divmod(minutes, 60)
    clock = f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes:02}:{seconds:02}"
    tail = f" · {clock}"
    tasks = _tasks_text(list(marks), cells_max=width - cells(tail))
    room = width - cells(tasks) - cells(tail)
    rest = f" · {words}" if words and width > (cells(words) + cells(SEPARATOR)) * 3 else ""
    if news and room > NEWS_CELLS_MIN + cells(SEPARATOR):
        told = f"{SEPARATOR}{plain(news)}"
        tail += clip(told, room) + (rest if cells(told) + cells(rest) <= room else "")
    elif rest and (not news or cells(rest) <= room):
        tasks, tail = clip(tasks, max(1, room + cells(tasks) - cells(rest))), tail + rest
    return clip(tasks + tail, width)


def _tasks_text(marks: Sequence[TaskMark], *, cells_max: int) -> str:
    """Where not all have room, those in trouble come first."""
    tasks = _joined(marks)
    if cells(tasks) > cells_max:
        tasks = _joined(sorted(marks, key=lambda one: one.mark not in IN_TROUBLE))
    return clip(tasks, max(1, cells_max))


def _joined(marks: Iterable[TaskMark]) -> str:
    return plain(" ".join(" ".join(filter(None, (one.task, one.mark, one.words))) for one in marks))


class Screen:
    """Lines in, bytes out, by one writer thread. `show` costs microseconds.

    On a terminal `show` never waits: when the terminal is stopped or slow, lines are dropped and
    counted, and a line says so once it flows again. On a pipe nothing is dropped: `show` waits for
    the reader, so ask `has_room` first where waiting would hurt. `close` always ends.
    """

    def __init__(
        self, fd: int, *, width: int, colour: bool, is_tty: bool, tasks: Sequence[str] = ()
    ) -> None:
        self._outlet = Outlet(fd)
        self._width = width
        self._is_tty = is_tty
        self._colour = colour
        self._prefixes = _Prefixes(tasks, colour=colour)
        self._changed = threading.Condition()
        self._queue: deque[bytes] = deque()
        self._queued_bytes = 0
        self._gap_lines = 0  # dropped since the last notice
        self._status = b""
        self._status_drawn = b""
        self._deadline_s: float | None = None  # set when nobody will show anything any more
        self._ended = False
        self._gone = ""
        self._lines_shown = 0
        self._lines_not_shown = 0
        self._thread = threading.Thread(target=self._run, name="holdfast-screen")
        self._thread.start()

    @property
    def lines_shown(self) -> int:
        """Lines given to the terminal, without our own notices about gaps."""
        return self._lines_shown

    @property
    def lines_not_shown(self) -> int:
        """Lines dropped: the terminal was stopped, slow or gone."""
        return self._lines_not_shown

    @property
    def gone(self) -> str:
        """Why nobody listens any more; empty while somebody does."""
        return self._gone

    def show(self, task: str, lines: Iterable[str]) -> None:
        """A task's lines, each behind the task's name."""
        with self._changed:
            prefix = self._prefixes.of(task)
        self._put([f"{prefix}{plain(line)}\n".encode() for line in lines])

    def say(self, lines: Iterable[str]) -> None:
        """Lines of our own, without a name before them."""
        shown = map(_painted, map(plain, lines)) if self._colour else map(plain, lines)
        self._put([f"{line}\n".encode() for line in shown])

    def set_status(self, text: str) -> None:
        """Replace the line at the bottom; only a terminal has one."""
        if not self._is_tty:
            return
        # A row that is full to its last column would wrap when the cursor moves on.
        drawn = clip(plain(text), self._width - 1).encode()
        with self._changed:
            if drawn != self._status:
                self._status = drawn
                self._changed.notify_all()

    def resize(self, width: int) -> None:
        self._width = width

    def has_room(self, lines: int = 1) -> bool:
        """Whether `show` would take so many lines now: no drop, no wait."""
        with self._changed:
            return self._over() or not (self._gap_lines or self._full(lines))

    def close(self, drain_s: float) -> int:
        """Write what is queued, for so long at most. Says how many lines were not shown, ever."""
        with self._changed:
            if self._deadline_s is None:
                self._deadline_s = time.monotonic() + drain_s
            self._changed.notify_all()
            if not self._ended:
                self._outlet.wake()
        self._thread.join(drain_s + _SPARE_S)
        return self._lines_not_shown

    def _put(self, rows: list[bytes]) -> None:
        with self._changed:
            for row in rows:
                if not self._is_tty and self._full():
                    self._changed.notify_all()
                    self._changed.wait_for(lambda: self._over() or not self._full())
                if self._over() or self._gap_lines or self._full():
                    # Once a line is dropped, all are, until the queue is empty: one gap, not many.
                    self._lines_not_shown += 1
                    self._gap_lines += 1
                else:
                    self._queue.append(row)
                    self._queued_bytes += len(row)
            self._changed.notify_all()

    def _over(self) -> bool:
        return self._ended or self._deadline_s is not None

    def _full(self, lines: int = 1) -> bool:
        return len(self._queue) + lines > LINES_QUEUED_MAX or self._queued_bytes >= BYTES_QUEUED_MAX

    def _run(self) -> None:
        """The writer thread: ends when all is written, time is over, or nobody listens."""
        try:
            while (batch := self._next_batch()) is not None:
                self._write(batch)
            if self._status_drawn:
                self._outlet.write(memoryview(_CLEAR))
        except OSError as error:
            self._gone = error.strerror or repr(error)
        finally:
            with self._changed:
                self._ended = True
                self._lines_not_shown += len(self._queue)
                self._queue.clear()
                self._outlet.close()
                self._changed.notify_all()

    def _next_batch(self) -> "_Batch | None":
        """What to write next; None when there is nothing left, or no time."""
        with self._changed:
            while not (self._queue or self._gap_lines or self._status != self._status_drawn):
                if self._seconds_left() < inf:
                    return None
                self._changed.wait(LOOK_UP_EVERY_S)
            if self._seconds_left() <= 0:
                return None
            rows = self._taken_rows()
            notice = b""
            if not rows and self._gap_lines:
                notice, self._gap_lines = _notice(self._gap_lines), 0
            clear = _CLEAR if self._status_drawn else b""
            self._status_drawn = self._status
            self._changed.notify_all()
            return _Batch(raw=b"".join([clear, *rows, notice, self._status]), lines=len(rows))

    def _taken_rows(self) -> list[bytes]:
        rows: list[bytes] = []
        taken_bytes = 0
        while self._queue and taken_bytes < BATCH_BYTES_MAX:
            rows.append(self._queue.popleft())
            taken_bytes += len(rows[-1])
        self._queued_bytes -= taken_bytes
        return rows

    def _write(self, batch: "_Batch") -> None:
        left = memoryview(batch.raw)
        try:
            while left:
                taken = self._outlet.write(left)
                left = left[taken:]
                if not taken:
                    seconds_left = self._seconds_left()
                    if seconds_left <= 0:
                        break
                    self._outlet.wait(min(seconds_left, LOOK_UP_EVERY_S))
        finally:
            unwritten = min(batch.lines, bytes(left).count(b"\n"))
            with self._changed:
                self._lines_shown += batch.lines - unwritten
                self._lines_not_shown += unwritten

    def _seconds_left(self) -> float:
        """Infinite while the program runs and nobody called `close`."""
        if self._deadline_s is None:
            if threading.main_thread().is_alive():
                return inf
            # The interpreter waits for this thread: a forgotten close() must not hang it.
            self._deadline_s = time.monotonic() + ABANDONED_DRAIN_S
        return self._deadline_s - time.monotonic()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Batch:
    raw: bytes
    lines: int


class _Prefixes:
    """The name before each line: aligned, and always in the same colour for one task."""

    def __init__(self, tasks: Iterable[str], *, colour: bool) -> None:
        self._colour = colour
        self._cells = 0
        self._drawn: dict[str, str] = {}
        for task in tasks:
            self.of(task)

    def of(self, task: str) -> str:
        if task not in self._drawn:
            self._drawn[task] = self._draw(task, len(self._drawn))
            if cells(plain(task)) > self._cells:
                self._cells = cells(plain(task))
                self._drawn = {
                    known: self._draw(known, number) for number, known in enumerate(self._drawn)
                }
        return self._drawn[task]

    def _draw(self, task: str, number: int) -> str:
        name = plain(task)
        padded = name + " " * (self._cells - cells(name))
        if not self._colour:
            return f"{padded} │ "
        return f"\x1b[{_COLOURS[number % len(_COLOURS)]}m{padded} │\x1b[0m "


def _painted(line: str) -> str:
    """How grave a finding is stands in its first word; that it is over, before the first colon."""
    label, colon, rest = line.partition(": ")
    is_over = label.removeprefix("error ").removeprefix("warning ").startswith("taken back after ")
    code = GREEN if is_over else SEVERITY_COLOURS.get(label.partition("[")[0])
    return f"\x1b[{code}m{label}\x1b[0m{colon}{rest}" if code and colon else line


def _notice(lines: int) -> bytes:
    were = "line was" if lines == 1 else "lines were"
    return f"… {lines:,} {were} not shown here; all of them are in logs/\n".encode()

"""Follows the logs of one source, group by group, from where the central segments end."""

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from holdfast.rows.central_state import Position
from holdfast.rows.errors import RowsError
from holdfast.rows.frames import (
    ATTRIBUTES,
    DECLARATION,
    END,
    HEADER,
    HEADER_BYTES,
    LOG_HEADER,
    MAGIC,
    MORE_FOLLOWS,
    ROWS,
    SUMMED_FROM,
    frame_at,
)
from holdfast.rows.layout import log_name, part_number
from holdfast.rows.reading_log import LogContent
from holdfast.rows.schema import Dataset
from holdfast.rows.sums import sum_of

DESCRIPTION_BYTES_MAX = 1 << 20
GROUPS_WAITING_MAX = 1 << 16
LOOKED_BEHIND_BYTES_MAX = 256 << 20
_WINDOW_BYTES = 1 << 16


class LogFile:
    """One log that is being read. `bad_at` is where a copy found a checksum that differs."""

    __slots__ = ("bad_at", "fd", "is_ended", "is_kept", "number", "path")

    def __init__(self, path: Path, number: int, bad_at: int | None) -> None:
        self.path = path
        self.number = number
        self.fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        self.bad_at = bad_at
        self.is_ended = False
        self.is_kept = False

    def close(self) -> None:
        fd, self.fd = self.fd, -1
        if fd >= 0:
            os.close(fd)


class Piece(NamedTuple):
    """Rows of one dataset in one frame; `xxh3` is the frame's."""

    log: LogFile
    dataset: Dataset
    rows: int
    first_row: int
    time_ns: int
    offset: int
    nbytes: int
    xxh3: int


class Group(NamedTuple):
    """What counts only together, and where in the log it ends."""

    time_ns: int
    pieces: tuple[Piece, ...]
    attrs: tuple[tuple[Dataset, dict[str, Any]], ...]
    nbytes: int
    log: LogFile
    end: int


class Tail:
    """Reads headers only: payloads are read once, when they are copied into a segment."""

    def __init__(
        self,
        folder: Path,
        position: Position,
        *,
        may_come_back: bool,
        bad: Mapping[Path, int],
        warn: Callable[[str], None],
    ) -> None:
        """`may_come_back`: after its end its writer may go on, with the log behind the last."""
        self.folder = folder
        self.is_aside = False
        self.is_at_end = False  # whether the last look saw all that there was
        self.position = position
        self.waiting: list[Group] = []
        self.done: list[LogFile] = []  # read to the end; theirs may still wait to be published
        self._may_come_back = may_come_back
        self._bad = bad
        self._warn = warn
        self._log: LogFile | None = None
        self._at = 0
        self._resumed = (position.log, position.offset)  # the position itself moves on
        self._skip_log = position.log
        self._datasets: dict[int, Dataset] = {}
        self._window = b""
        self._window_at = 0

    def look(self, *, nbytes_max: int) -> None:
        """Puts what is new, up to about this much, into `waiting`."""
        room = nbytes_max - sum(group.nbytes for group in self.waiting)
        self.is_at_end = False
        while room > 0 and len(self.waiting) < GROUPS_WAITING_MAX:
            # The list comes first: if it names a later log, this one has its last byte.
            later = self._later_log()
            if self._log is not None:
                room = self._read(room)
                if room <= 0 or len(self.waiting) >= GROUPS_WAITING_MAX:
                    return
            if self._log is not None and (later is not None or self._log.is_ended):
                self._leave()
            if later is None:
                self.is_at_end = True
                return
            self._open(later)

    def close(self) -> None:
        for log in [*self.done, *([self._log] if self._log else [])]:
            log.close()

    @property
    def is_read(self) -> bool:
        """Whether an open log is there of which nothing waits."""
        return self._log is not None and not self.waiting

    def released(self) -> list[LogFile]:
        """The logs of which nothing waits to go into a segment any more; said once."""
        if self.is_aside:
            return []  # nothing of it waits, because nothing of it goes into any segment
        waiting = {group.log for group in self.waiting}
        found = [log for log in self.done if log not in waiting]
        self.done = [log for log in self.done if log in waiting]
        return found

    def _later_log(self) -> int | None:
        after = self._log.number if self._log else self._skip_log - 1
        found = self._first_log(after)
        if found is None or found == after + 1:
            return found
        # A list may miss a log that was made while it was read, and have a later one. A second
        # list, begun when the later one was there, has both.
        return self._first_log(after)

    def _first_log(self, after: int) -> int | None:
        found = (part_number(entry.name, ".log") for entry in os.scandir(self.folder))
        return min((n for n in found if n is not None and n > after), default=None)

    def _open(self, number: int) -> None:
        path = self.folder / log_name(number)
        self._log = LogFile(path, number, self._bad.get(path))
        self._at = 0
        self._window = b""
        self._datasets = {}

    def _leave(self) -> None:
        """Goes on to the next log. What does not count in this one is looked at first."""
        log = self._log
        assert log is not None
        self._look_behind(log)
        if self._may_come_back and not self._is_in_a_position(log):
            # It goes, and a writer that comes back would give its number to a log with rows,
            # which is behind us. So the segments say that this number was given, too.
            self.waiting.append(Group(0, (), (), 0, log, self._at))
        self.done.append(log)
        self._log = None
        self._skip_log = log.number + 1

    def _is_in_a_position(self, log: LogFile) -> bool:
        """Whether the position names it or will, because of what is in it."""
        is_last = bool(self.waiting) and self.waiting[-1].log is log
        return is_last or log.number <= self.position.log

    def finish(self) -> None:
        """The writer is gone: its last log has its last byte."""
        if self._log is not None:
            self._leave()

    def _look_behind(self, log: LogFile) -> None:
        """A cut last frame was never acknowledged; whole frames behind damage may have been."""
        size = os.fstat(log.fd).st_size
        if size <= self._at:
            return
        behind = os.pread(log.fd, min(size - self._at, LOOKED_BEHIND_BYTES_MAX), self._at)
        is_cut = log.bad_at is None and MAGIC.startswith(behind[: len(MAGIC)])
        if is_cut and not _has_whole_group(behind):
            return
        log.is_kept = True
        self._warn(
            f"{log.path} is damaged at byte {self._at}: what is behind is not in the central "
            "segments; the log stays, and `holdfast rescue` reads it"
        )

    def _read(self, room: int) -> int:
        """The whole groups that the log has now; what is left of the room."""
        log = self._log
        assert log is not None
        size = os.fstat(log.fd).st_size
        if log.bad_at is not None:
            size = min(size, log.bad_at)
        while room > 0 and len(self.waiting) < GROUPS_WAITING_MAX and not log.is_ended:
            group = self._group(log, size)
            if group is None:
                break
            is_new = (log.number, group.end) > self._resumed
            if (group.pieces or group.attrs) and is_new:
                self.waiting.append(group)
                room -= group.nbytes
            self._at = group.end
        return room

    def _group(self, log: LogFile, size: int) -> Group | None:
        at = self._at
        pieces: list[Piece] = []
        attrs: list[tuple[Dataset, dict[str, Any]]] = []
        time_ns = nbytes = 0
        while True:
            if size - at < HEADER_BYTES:
                return None
            header = self._header(log, at)
            if len(header) < HEADER_BYTES:
                return None
            magic, xxh3, kind, flags, number, rows, length, first_row, time_ns = HEADER.unpack(
                header
            )
            offset = at + HEADER_BYTES
            if magic != MAGIC or length > size - offset:
                return None
            if kind == ROWS:
                dataset = self._datasets.get(number)
                if dataset is None or not _fits(dataset, rows, length):
                    return None
                pieces.append(Piece(log, dataset, rows, first_row, time_ns, offset, length, xxh3))
            else:
                text = self._text(log, kind, offset, length)
                is_whole = sum_of(header[SUMMED_FROM:] + text) == xxh3
                if not is_whole or not self._described(log, kind, number, text, attrs):
                    return None
            at = offset + length
            nbytes += length
            if not flags & MORE_FOLLOWS:
                return Group(time_ns, tuple(pieces), tuple(attrs), nbytes, log, at)

    def _header(self, log: LogFile, at: int) -> bytes:
        start = at - self._window_at
        if start < 0 or len(self._window) - start < HEADER_BYTES:
            self._window, self._window_at, start = os.pread(log.fd, _WINDOW_BYTES, at), at, 0
        return self._window[start : start + HEADER_BYTES]

    def _text(self, log: LogFile, kind: int, offset: int, length: int) -> bytes:
        """All but rows is small. What is not is not read, and its checksum will differ."""
        if kind not in (LOG_HEADER, DECLARATION, ATTRIBUTES, END) or length > DESCRIPTION_BYTES_MAX:
            return b""
        return os.pread(log.fd, length, offset)

    def _described(
        self,
        log: LogFile,
        kind: int,
        number: int,
        text: bytes,
        attrs: list[tuple[Dataset, dict[str, Any]]],
    ) -> bool:
        """Whether the description is understood."""
        try:
            found = json.loads(text)
            if kind == DECLARATION:
                dataset = Dataset.from_json(found)
                self._datasets[dataset.id] = dataset
            elif kind == ATTRIBUTES:
                attrs.append((self._datasets[number], dict(found)))
        except (ValueError, KeyError, TypeError, RecursionError, RowsError):
            return False
        log.is_ended = log.is_ended or kind == END
        return True


def _fits(dataset: Dataset, rows: int, nbytes: int) -> bool:
    whole = rows * dataset.row_bytes
    return nbytes >= whole if dataset.is_text else nbytes == whole


def _has_whole_group(behind: bytes) -> bool:
    """Whether a frame lies there that ends a group: one whose rows were acknowledged, perhaps."""
    at = behind.find(MAGIC, 1)
    while at >= 0:
        frame = frame_at(behind, at)
        if frame is not None and not frame.flags & MORE_FOLLOWS:
            return True
        at = behind.find(MAGIC, at + 1)
    return False


def remove_contained(folder: Path, log: int) -> None:
    """Whole logs before this one: whoever published their rows died before removing them."""
    for path in folder.glob("*.log"):
        number = part_number(path.name, ".log")
        if number is None or number >= log:
            continue
        with LogContent(path) as content:
            is_whole = content.tail is None
        if is_whole:
            path.unlink(missing_ok=True)

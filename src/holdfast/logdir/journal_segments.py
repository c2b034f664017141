"""The journal as append-only segments, for directories that other hosts share.

A line is `<crc32, 8 hex digits> <fact as JSON>`. What one call appends is one write, so it is in
the kernel's hands, and outlives us, when the call returns. We ask for fdatasync only when a
segment is full and at the end: on a network file system it takes 5 to 100 ms, which the loop
cannot spend per fact, and it guards against the loss of this host only. That loss ends the
attempt anyway, and what it can cost is bounded by the kernel's write-back delay (30 s).
"""

import os
import time
import zlib
from dataclasses import dataclass
from typing import Self

from holdfast.logdir import private_files as private
from holdfast.logdir.private_files import read_errors, write_errors
from holdfast.logdir.replay import Reading
from holdfast.logdir.run_dir import RunDir
from holdfast.model.codec import encode
from holdfast.model.errors import HoldfastError
from holdfast.model.facts import Fact
from holdfast.model.pattern import Pattern

SEGMENTS = "journal"
SEGMENT_BYTES_MAX = 16 << 20
_SEGMENT_NAME = Pattern(r"^\d{6}\.seg$")
_CRC_DIGITS = 8
HALF_LINE_TRIES, HALF_LINE_PAUSE_S = 3, 0.01


class SegmentJournal:
    """The writer. It leaves an earlier writer's segment alone: that may end in half a line."""

    def __init__(self, run_dir: RunDir, lock_fd: int) -> None:
        self._run_dir = run_dir
        run_dir.make_folder(SEGMENTS)
        with SegmentReader(run_dir) as reader:
            reading = Reading()
            reader.read_all(reading)
        self._size = len(reading.facts)
        with write_errors(run_dir.place(SEGMENTS)):
            self._folder_fd = private.open_folder_at(SEGMENTS, dir_fd=run_dir.fd)
        try:
            self._number = max(_numbers(self._folder_fd), default=0)
            self._fd = self._create_next()
        except BaseException:
            os.close(self._folder_fd)
            raise
        self._lock_fd = lock_fd

    def append(self, *facts: Fact) -> None:
        lines = b"".join(_to_line(encode(fact)) for fact in facts)
        if self._bytes and self._bytes + len(lines) > SEGMENT_BYTES_MAX:
            full, self._fd = self._fd, self._create_next()
            self._finish(full, self._number - 1)
        with write_errors(self._place(self._number)):
            private.write_whole(self._fd, lines)
        self._bytes += len(lines)
        self._size += len(facts)

    def size(self) -> int:
        return self._size

    def close(self) -> None:
        if self._fd < 0:
            return
        fd, self._fd = self._fd, -1
        try:
            self._finish(fd, self._number)
        finally:
            os.close(self._folder_fd)
            os.close(self._lock_fd)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _create_next(self) -> int:
        number = self._number + 1
        with write_errors(self._place(number)):
            flags = os.O_WRONLY | os.O_APPEND
            fd = private.create_file(_name(number), flags=flags, dir_fd=self._folder_fd)
        self._number, self._bytes = number, 0
        return fd

    def _finish(self, fd: int, number: int) -> None:
        with write_errors(self._place(number)):
            try:
                os.fdatasync(fd)
            finally:
                os.close(fd)

    def _place(self, number: int) -> str:
        return self._run_dir.place(f"{SEGMENTS}/{_name(number)}")


@dataclass(frozen=True, slots=True)
class _Place:
    """Up to where the segments are read."""

    number: int = 0
    offset: int = 0


class SegmentReader:
    def __init__(self, run_dir: RunDir) -> None:
        self._run_dir = run_dir
        self._place = _Place()

    def read_all(self, reading: Reading) -> None:
        """A half line at the end may be one that somebody is writing just now."""
        rest = self.read_fresh(reading)
        for _ in range(HALF_LINE_TRIES):
            if not rest:
                return
            time.sleep(HALF_LINE_PAUSE_S)
            rest = self.read_fresh(reading)
        if rest:
            _add_line(rest, reading)

    def read_fresh(self, reading: Reading) -> bytes:
        """Read the lines that are whole; returns the half line at the very end, to be continued."""
        with read_errors(self._run_dir.place(SEGMENTS)):
            folder_fd = private.open_folder_at(SEGMENTS, dir_fd=self._run_dir.fd)
        try:
            rest = b""
            # Listed before they are read: whoever has a successor has got its last line.
            for number in _numbers(folder_fd):
                if number < self._place.number:
                    continue
                if rest:
                    _add_line(rest, reading)
                rest = self._read_segment(number, folder_fd, reading)
            return rest
        finally:
            os.close(folder_fd)

    def close(self) -> None:
        """Nothing stays open between two readings: opening anew is how NFS shows what is new."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _read_segment(self, number: int, folder_fd: int, reading: Reading) -> bytes:
        place = self._run_dir.place(f"{SEGMENTS}/{_name(number)}")
        offset = self._place.offset if number == self._place.number else 0
        rest = b""
        try:
            with (
                read_errors(place),
                os.fdopen(private.open_for_reading(_name(number), dir_fd=folder_fd), "rb") as file,
            ):
                file.seek(offset)
                for line in file:
                    if not line.endswith(b"\n"):
                        rest = line
                        break
                    offset += len(line)
                    _add_line(line[:-1], reading)
        except HoldfastError as error:
            reading.skip(error.message)
        self._place = _Place(number, offset)
        return rest


def _to_line(record: bytes) -> bytes:
    return b"%08x %s\n" % (zlib.crc32(record), record)


def _add_line(line: bytes, reading: Reading) -> None:
    digits, record = line[:_CRC_DIGITS], line[_CRC_DIGITS + 1 :]
    if b"%08x " % zlib.crc32(record) != line[: _CRC_DIGITS + 1]:
        reading.skip("a line is cut or damaged")
        return
    reading.add(int(digits, 16), record)


def _name(number: int) -> str:
    return f"{number:06}.seg"


def _numbers(folder_fd: int) -> list[int]:
    names = os.listdir(folder_fd)
    return sorted(int(name[:6]) for name in names if _SEGMENT_NAME.search(name))

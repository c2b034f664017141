"""The bytes of one part of a log: as they are or unpacked, with a word for what cannot be read."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Self

from holdfast.logs.part import Part
from holdfast.logs.unpack import Unpacking, missing_extra, packed_as
from holdfast.model.hearing import BEFORE_BYTES

SAMPLE_BYTES = 8_192


def is_binary(sample: bytes) -> bool:
    """Whether it is no text: NUL bytes between others.

    A log that was truncated under its writer begins with nothing but NUL bytes.
    """
    return b"\0" in sample.strip(b"\0")


def is_packed(path: bytes) -> bool:
    """Whether it can be read from its beginning only. What cannot be opened says so later."""
    try:
        with Path(os.fsdecode(path)).open("rb") as file:
            return bool(packed_as(file.read(SAMPLE_BYTES)))
    except OSError:
        return False


class Content:
    """The bytes of one part, one after another; `why` says what could not be read of them."""

    def __init__(self, part: Part) -> None:
        self.why = ""
        self.inside = False  # whether it begins within a line
        self.above = b""  # some of what stands before it
        self._ours = bool(part.path)
        self._fd = os.open(part.path, os.O_RDONLY | os.O_CLOEXEC) if part.path else 0
        self._unpacking: Unpacking | None = None
        self._sample = b""
        if part.start:
            self._enter_at(part.start)
        else:
            self._enter()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._ours:
            os.close(self._fd)

    def read(self, size: int) -> bytes:
        """The next bytes; none when there are no more that we can read."""
        if self._sample:
            taken, self._sample = self._sample[:size], self._sample[size:]
            return taken
        if self.why:
            return b""
        return self._more(size)

    def _enter_at(self, start: int) -> None:
        around = os.pread(self._fd, 2, start - 1)
        before, first = around[:1], around[1:]
        self.inside = before != b"\n" and (before != b"\r" or first == b"\n")
        room = min(start, BEFORE_BYTES)
        self.above = os.pread(self._fd, room, start - room)
        os.lseek(self._fd, start, os.SEEK_SET)

    def _enter(self) -> None:
        """What it is packed with, and whether it is text, is known by its first bytes."""
        sample = _read_whole(self._raw, SAMPLE_BYTES)
        packed = packed_as(sample)
        if packed and (extra := missing_extra(packed)):
            self.why = f"it is packed with {packed}: pip install '{extra}'"
            return
        if packed:
            self._unpacking = Unpacking(packed, sample, self._raw)
            sample = _read_whole(self._more, SAMPLE_BYTES)
        if is_binary(sample):
            self.why = "it is no text"
            return
        self._sample = sample

    def _more(self, size: int) -> bytes:
        if self._unpacking is None:
            return self._raw(size)
        found = self._unpacking.read(size)
        self.why = self.why or self._unpacking.why
        return found

    def _raw(self, size: int) -> bytes:
        try:
            return os.read(self._fd, size)
        except OSError as error:
            self.why = f"reading stopped: {error.strerror}"
            return b""


def _read_whole(read: Callable[[int], bytes], size: int) -> bytes:
    """As many bytes as asked for, unless there are no more: pipes give few at a time."""
    found = b""
    while len(found) < size and (more := read(size - len(found))):
        found += more
    return found

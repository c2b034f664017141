"""The bytes of one part of a log: as they are or unpacked, with a word for what cannot be read."""

import os
from pathlib import Path
from typing import Self

from holdfast.logs.archive import Read, archive_kind
from holdfast.logs.part import Part
from holdfast.logs.unpack import Unpacking, missing_extra, packed_as
from holdfast.model.hearing import BEFORE_BYTES

SAMPLE_BYTES = 8_192


def is_binary(sample: bytes) -> bool:
    """Whether it is no text: NUL bytes between others.

    A log that was truncated under its writer begins with nothing but NUL bytes.
    """
    return b"\0" in sample.strip(b"\0")


def is_one_piece(path: bytes) -> bool:
    """Whether one process must read all of it. What cannot be opened says so later."""
    try:
        with Path(os.fsdecode(path)).open("rb") as file:
            sample = file.read(SAMPLE_BYTES)
            return bool(packed_as(sample) or archive_kind(sample))
    except OSError:
        return False


class Stream:
    """Bytes from their beginning, unpacked if need be; `why` says what could not be read."""

    def __init__(self, raw: Read) -> None:
        self.why = ""
        self.archive = ""  # its kind, if it is one: then these are not the bytes of a log
        self.is_binary = False
        self._raw = raw
        self._unpacking: Unpacking | None = None
        self._sample = self._begin()

    @property
    def is_packed(self) -> bool:
        return self._unpacking is not None

    def read(self, size: int) -> bytes:
        """The next bytes; none when there are no more that we can read."""
        if not self._sample and not self.why:
            self._sample = self._more(size)  # zstd gives more than is asked for
        taken, self._sample = self._sample[:size], self._sample[size:]
        return taken

    def _begin(self) -> bytes:
        """What it is packed with, and whether it is text, is known by its first bytes."""
        sample = _read_whole(self._raw, SAMPLE_BYTES)
        packed = packed_as(sample)
        if packed and (extra := missing_extra(packed)):
            self.why = f"it is packed with {packed}: pip install '{extra}'"
            return b""
        if packed:
            self._unpacking = Unpacking(packed, sample, self._raw)
            sample = _read_whole(self._more, SAMPLE_BYTES)
        self.archive = archive_kind(sample)
        self.is_binary = is_binary(sample) and not self.archive
        if self.is_binary:
            self.why = "it is no text"
            return b""
        return sample

    def _more(self, size: int) -> bytes:
        if self._unpacking is None:
            return self._raw(size)
        found = self._unpacking.read(size)
        self.why = self.why or self._unpacking.why
        return found


class Content:
    """The bytes of one part, one after another; `why` says what could not be read of them."""

    def __init__(self, part: Part) -> None:
        self.inside = False  # whether it begins within a line
        self.above = b""  # some of what stands before it
        self.taken = 0  # bytes, before unpacking
        self._why = ""
        self._ours = bool(part.path)
        self.fd = os.open(part.path, os.O_RDONLY | os.O_CLOEXEC) if part.path else 0
        self._stream: Stream | None = None
        if part.start:
            self._enter_at(part.start)
        else:
            self._stream = Stream(self._raw)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._ours:
            os.close(self.fd)

    @property
    def why(self) -> str:
        return self._why or (self._stream.why if self._stream else "")

    @property
    def archive(self) -> str:
        """Its kind, if it is one."""
        return self._stream.archive if self._stream else ""

    @property
    def is_packed(self) -> bool:
        return self._stream is not None and self._stream.is_packed

    def read(self, size: int) -> bytes:
        """The next bytes; none when there are no more that we can read."""
        if self._stream is not None:
            return self._stream.read(size)
        return b"" if self._why else self._raw(size)

    def _enter_at(self, start: int) -> None:
        around = os.pread(self.fd, 2, start - 1)
        before, first = around[:1], around[1:]
        self.inside = before != b"\n" and (before != b"\r" or first == b"\n")
        room = min(start, BEFORE_BYTES)
        self.above = os.pread(self.fd, room, start - room)
        os.lseek(self.fd, start, os.SEEK_SET)

    def _raw(self, size: int) -> bytes:
        try:
            found = os.read(self.fd, size)
        except OSError as error:
            self._why = f"reading stopped: {error.strerror}"
            return b""
        self.taken += len(found)
        return found


def _read_whole(read: Read, size: int) -> bytes:
    """As many bytes as asked for, unless there are no more: pipes give few at a time."""
    found = b""
    while len(found) < size and (more := read(size - len(found))):
        found += more
    return found

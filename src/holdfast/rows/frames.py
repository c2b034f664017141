"""Frames: how a log is cut into pieces that each prove they are whole."""

import os
import struct
from collections.abc import Generator
from dataclasses import dataclass
from typing import NamedTuple

from holdfast.rows.sums import SUM_BYTES, Sum, sum_of

MAGIC = b"HFR1"
LOG_HEADER, DECLARATION, ROWS, ATTRIBUTES, END = range(5)
MORE_FOLLOWS = 1
# A frame holds at most this much, or one row; a larger batch is a group of frames.
FRAME_PAYLOAD_BYTES = 4 << 20
ROW_BYTES_MAX = 1 << 30
DESCRIPTION_BYTES_MAX = 16 << 20
_WINDOW_BYTES = 1 << 20
# A header begins with the magic and the sum of all that is behind the sum, to the frame's end.
SUMMED_FROM = len(MAGIC) + SUM_BYTES
pack_begin = struct.Struct("<4sQ").pack
pack_rest = struct.Struct("<BBHIQQQ").pack
HEADER = struct.Struct("<4sQBBHIQQQ")
HEADER_BYTES = HEADER.size


class Frame(NamedTuple):
    """One whole frame of a log; `offset` is where its payload begins."""

    kind: int
    flags: int
    dataset_id: int
    rows: int
    nbytes: int
    first_row: int
    time_ns: int
    offset: int


@dataclass(frozen=True)
class Tail:
    """What lies behind the last whole frame of a log, and why it does not count."""

    good_bytes: int
    total_bytes: int
    why: str


def header_of(
    kind: int, payload: bytes, *, time_ns: int, flags: int = 0, dataset_id: int = 0, rows: int = 0,
    first_row: int = 0,
) -> bytes:  # fmt: skip
    """The bytes that go before this payload."""
    rest = pack_rest(kind, flags, dataset_id, rows, len(payload), first_row, time_ns)
    found = Sum(rest)
    found.update(payload)
    return pack_begin(MAGIC, found.intdigest()) + rest


def frame_at(buffer: bytes | memoryview, start: int) -> Frame | None:
    """The whole frame at this place of a buffer, or None: for those who look behind damage."""
    if len(buffer) - start < HEADER_BYTES:
        return None
    magic, xxh3, kind, flags, dataset_id, rows, nbytes, first_row, time_ns = HEADER.unpack_from(
        buffer, start
    )
    offset = start + HEADER_BYTES
    if magic != MAGIC or nbytes > len(buffer) - offset:
        return None
    if sum_of(memoryview(buffer)[start + SUMMED_FROM : offset + nbytes]) != xxh3:
        return None
    return Frame(kind, flags, dataset_id, rows, nbytes, first_row, time_ns, offset)


def scan(
    fd: int, total_bytes: int, written: int
) -> Generator[tuple[Frame, bytes], None, Tail | None]:
    """The whole frames from the beginning, each with its payload if that is not large.

    What ends behind `written` and is not whole is being written, or never was. Returns the tail:
    what does not count, or None. Reads rather than maps, because a writer may take back a
    half-written frame while we look: a map would end this process.
    """
    at = 0
    window = _Window(fd)
    while at < total_bytes:
        header = window.read(at, HEADER_BYTES)
        if at >= written and not header.startswith(MAGIC):
            return None
        if len(header) < HEADER_BYTES:
            return Tail(at, written, "the last frame is cut")
        magic, xxh3, kind, flags, dataset_id, rows, nbytes, first_row, time_ns = HEADER.unpack(
            header
        )
        offset = at + HEADER_BYTES
        if magic != MAGIC and offset <= written:
            return Tail(at, written, "no frame begins here")
        if magic != MAGIC or nbytes > total_bytes - offset:
            return Tail(at, max(at, written), "the last frame is cut")
        if kind != ROWS and nbytes > DESCRIPTION_BYTES_MAX:
            return Tail(at, written, "a description is too long")
        found = Sum(header[SUMMED_FROM:])
        if nbytes <= _WINDOW_BYTES or kind != ROWS:
            payload = window.read(offset, nbytes)
            found.update(payload)
        else:
            payload = b""
            _add_file(found, fd, offset, nbytes)
        if found.intdigest() != xxh3:
            is_cut = written < offset + nbytes
            why = "the last frame is cut" if is_cut else "a checksum differs"
            return Tail(at, max(at, written), why)
        yield Frame(kind, flags, dataset_id, rows, nbytes, first_row, time_ns, offset), payload
        at = offset + nbytes
    return None


class _Window:
    """The piece of a file that was read last."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._bytes = b""
        self._at = 0

    def read(self, at: int, nbytes: int) -> bytes:
        """These bytes of the file; fewer if it ends before."""
        start = at - self._at
        if start + nbytes > len(self._bytes):
            self._bytes = os.pread(self._fd, max(nbytes, _WINDOW_BYTES), at)
            self._at, start = at, 0
        return self._bytes[start : start + nbytes]


def _add_file(found: Sum, fd: int, offset: int, nbytes: int) -> None:
    """Goes on over so many bytes of a file; over fewer if it ends before."""
    while nbytes > 0:
        piece = os.pread(fd, min(nbytes, _WINDOW_BYTES), offset)
        if not piece:
            return
        found.update(piece)
        offset += len(piece)
        nbytes -= len(piece)

"""Finds facts in the raw bytes of a damaged database, which SQLite itself gives up on.

A short record lies in its page as it is, right behind its checksum as a big-endian number.
A record that needs more than one page is not found.
"""

import json
import os
import struct
import zlib
from collections.abc import Iterator

from holdfast.logdir import private_files as private
from holdfast.logdir.private_files import read_errors
from holdfast.logdir.replay import Reading
from holdfast.logdir.run_dir import RunDir
from holdfast.model.errors import HoldfastError

CARVED_BYTES_MAX = 1 << 30
_BEGINNING = b'{"fact":'
_RECORD_BYTES_MAX = 65_536  # SQLite's longest page
_CHUNK_BYTES = 8 << 20
_WAL_HEADER_BYTES = 32
_FRAME_HEADER_BYTES = 24
_FRAMES_LOOKED_AT_MAX = 10_000
_JSON = json.JSONDecoder()


def carve_missing(run_dir: RunDir, names: tuple[str, ...], reading: Reading) -> None:
    """Add every record in these files that the reading does not have yet."""
    known = reading.crcs()
    for name in names:
        try:
            for crc, record in _records_of(run_dir, name):
                if crc not in known:
                    known.add(crc)
                    reading.add(crc, record)
        except HoldfastError as error:
            if not isinstance(error.__cause__, FileNotFoundError):
                reading.note(error.message)
    reading.facts.sort(key=lambda fact: (fact.attempt, fact.at_s))


def last_commit_page(run_dir: RunDir, wal_name: str) -> bytes:
    """The last page that was committed to a write-ahead log, whatever comes before it."""
    try:
        with (
            read_errors(run_dir.place(wal_name)),
            os.fdopen(private.open_for_reading(wal_name, dir_fd=run_dir.fd), "rb") as file,
        ):
            return _last_commit_page(file.fileno())
    except HoldfastError:
        return b""  # SQLite will say what is wrong with it


def last_commit_is_lost(page: bytes, reading: Reading) -> bool:
    """Whether SQLite left out the log's newest page: it stops, silently, at the first bad one."""
    newest = {crc for crc, _ in _records_in(page)}
    return bool(newest) and not newest <= reading.crcs()


def _last_commit_page(fd: int) -> bytes:
    header = os.pread(fd, _WAL_HEADER_BYTES, 0)
    if len(header) < _WAL_HEADER_BYTES:
        return b""
    page_bytes, salt = struct.unpack(">I", header[8:12])[0], header[16:24]
    if not 512 <= page_bytes <= _RECORD_BYTES_MAX:  # noqa: PLR2004 - SQLite's shortest page
        return b""
    frame_bytes = _FRAME_HEADER_BYTES + page_bytes
    frames = (os.fstat(fd).st_size - _WAL_HEADER_BYTES) // frame_bytes
    for number in range(frames - 1, max(-1, frames - _FRAMES_LOOKED_AT_MAX), -1):
        at = _WAL_HEADER_BYTES + number * frame_bytes
        frame = os.pread(fd, _FRAME_HEADER_BYTES, at)
        # Left over from before the log last started anew: another salt. Not a commit: no size.
        if frame[8:16] == salt and frame[4:8] != bytes(4):
            return os.pread(fd, page_bytes, at + _FRAME_HEADER_BYTES)
    return b""


def _records_of(run_dir: RunDir, name: str) -> Iterator[tuple[int, bytes]]:
    with (
        read_errors(run_dir.place(name)),
        os.fdopen(private.open_for_reading(name, dir_fd=run_dir.fd), "rb") as file,
    ):
        overlap = b""
        for _ in range(CARVED_BYTES_MAX // _CHUNK_BYTES):
            chunk = file.read(_CHUNK_BYTES)
            yield from _records_in(overlap + chunk)
            if len(chunk) < _CHUNK_BYTES:
                return
            overlap = chunk[-_RECORD_BYTES_MAX:]


def _records_in(raw: bytes) -> Iterator[tuple[int, bytes]]:
    start = raw.find(_BEGINNING)
    while start >= 0:
        # One character per byte: what matters to JSON's structure is ASCII.
        text = raw[start : start + _RECORD_BYTES_MAX].decode("latin-1")
        try:
            _, length = _JSON.raw_decode(text)
        except (ValueError, RecursionError):
            length = 0
        record = raw[start : start + length]
        crc = zlib.crc32(record)
        if length and _stored_before(raw, start, crc):
            yield crc, record
        start = raw.find(_BEGINNING, start + max(length, 1))


def _stored_before(raw: bytes, start: int, crc: int) -> bool:
    """SQLite stores a number in 1, 2, 3, 4, 6 or 8 bytes with a sign, as few as will do."""
    width = max(1, (crc.bit_length() + 8) // 8)
    width = min(width, 4)  # of the six bytes of a large checksum, the first two are zero
    return raw[max(0, start - width) : start] == crc.to_bytes(8, "big")[-width:]

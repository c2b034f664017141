"""Finds facts in the raw bytes of a damaged database, which SQLite itself gives up on.

A short record lies in its page as it is, right behind its checksum as a big-endian number.
A record that needs more than one page is not found.
"""

import json
import os
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
_FRAME_BYTES = _FRAME_HEADER_BYTES + 4096  # SQLite's page, unless told otherwise
_FRAMES_KEPT = 32
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


def last_commits(run_dir: RunDir, wal_name: str) -> bytes:
    """The last pages that were committed to a write-ahead log, whatever comes before them."""
    try:
        with (
            read_errors(run_dir.place(wal_name)),
            os.fdopen(private.open_for_reading(wal_name, dir_fd=run_dir.fd), "rb") as file,
        ):
            return _last_commits(file.fileno())
    except HoldfastError:
        return b""  # SQLite will say what is wrong with it


def commits_are_lost(pages: bytes, reading: Reading) -> bool:
    """Whether SQLite left out the log's newest pages: it stops, silently, at the first bad one."""
    newest = {crc for crc, _ in _records_in(pages)}
    return bool(newest) and not newest <= reading.crcs()


def ends_inside_a_page(wal_bytes: int) -> bool:
    return wal_bytes > 0 and (wal_bytes - _WAL_HEADER_BYTES) % _FRAME_BYTES != 0


def _last_commits(fd: int) -> bytes:
    header = os.pread(fd, _WAL_HEADER_BYTES, 0)
    salt = header[16:24]
    frames = (os.fstat(fd).st_size - _WAL_HEADER_BYTES) // _FRAME_BYTES
    last = frames - 1
    for number in range(frames - 1, max(-1, frames - 1 - _FRAMES_LOOKED_AT_MAX), -1):
        frame = os.pread(fd, _FRAME_HEADER_BYTES, _WAL_HEADER_BYTES + number * _FRAME_BYTES)
        # Left over from before the log last started anew: another salt. Not a commit: no size.
        if frame[8:16] == salt and frame[4:8] != bytes(4):
            last = number
            break
    # Without any commit, the log's own header is damaged: then its last pages must do.
    first = max(0, last + 1 - _FRAMES_KEPT)
    begin = _WAL_HEADER_BYTES + first * _FRAME_BYTES
    return os.pread(fd, (last + 1 - first) * _FRAME_BYTES, begin)


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

"""Reads the SQLite journal: live, finished, cut off, damaged, or where we may not write."""

import os
import shutil
import sqlite3
import stat
import time
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Self

from holdfast.logdir import private_files as private
from holdfast.logdir.journal_carve import (
    carve_missing,
    commits_are_lost,
    ends_inside_a_page,
    last_commits,
)
from holdfast.logdir.journal_lock import is_being_written
from holdfast.logdir.journal_sqlite import DATABASE, WAL, database_uri, folder_of
from holdfast.logdir.private_files import read_errors
from holdfast.logdir.replay import Reading
from holdfast.logdir.run_dir import RunDir
from holdfast.model.errors import BadInput, StorageFailed

_BUSY_WAIT_S = 5.0
LATE_LOOKS, LATE_LOOK_S = 40, 0.05  # two seconds
_CACHE_KIB = 1024
_FORWARD = "SELECT seq, crc, record FROM facts WHERE seq > ? ORDER BY seq"
_BACKWARD = "SELECT seq, crc, record FROM facts WHERE seq > ? ORDER BY seq DESC"
_LOCKED = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})


@dataclass(frozen=True, slots=True)
class _Opened:
    connection: sqlite3.Connection
    copy: "TemporaryDirectory[str] | None" = None

    def close(self) -> None:
        self.connection.close()
        if self.copy:
            self.copy.cleanup()


class SqliteReader:
    """Reads each fact once, in the order it was appended."""

    def __init__(self, run_dir: RunDir) -> None:
        self._run_dir = run_dir
        self._opened: _Opened | None = None
        self._seq = 0  # of the last fact that was read
        with read_errors(run_dir.place(DATABASE)):
            # Not opened, here or below, unless SQLite has failed: to close any descriptor of
            # the database would drop the locks that SQLite holds in this process.
            mode = os.stat(DATABASE, dir_fd=run_dir.fd, follow_symlinks=False).st_mode
        if not stat.S_ISREG(mode):
            raise BadInput(
                f"{run_dir.place(DATABASE)} is not a plain file", do="check the run directory"
            )

    def read_fresh(self, reading: Reading) -> None:
        """What was appended since the last call. Nothing changed: one look-up in the table."""
        try:
            self._opened = self._opened or _open(self._run_dir)
            if self._opened:
                self._read_forward(self._opened.connection, reading)
        except sqlite3.DatabaseError as error:
            self.close()
            if _code(error) not in _LOCKED:
                reading.note(f"{self._run_dir.place(DATABASE)}: {error}")

    def read_all(self, reading: Reading) -> None:
        place = self._run_dir.place(DATABASE)
        wal_bytes = _size_of(self._run_dir, WAL)
        newest = last_commits(self._run_dir, WAL)
        try:
            self._opened = _open(self._run_dir)
            if self._opened:
                self._read_forward(self._opened.connection, reading)
            elif _size_of(self._run_dir, DATABASE):
                raise _damaged("no table of facts")
            else:
                reading.note(f"{place} is empty: nothing was written, or all of it was lost")
            if commits_are_lost(newest, reading) and not self._come_late(newest, reading):
                self._salvage(reading, f"{WAL} is damaged")
            # Under a writer's hand the log would have grown by now.
            elif ends_inside_a_page(wal_bytes) and wal_bytes == _size_of(self._run_dir, WAL):
                reading.note(f"{WAL} ends in the middle of a page: the last facts may be missing")
        except sqlite3.DatabaseError as error:
            if _code(error) in _LOCKED:
                raise StorageFailed(f"cannot read {place}: {error}", do="try again") from error
            self._salvage(reading, f"{place} is damaged after fact {self._seq}: {error}")

    def close(self) -> None:
        if self._opened:
            self._opened.close()
        self._opened = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _read_forward(self, connection: sqlite3.Connection, reading: Reading) -> None:
        for seq, crc, record in connection.execute(_FORWARD, (self._seq,)):
            # Only damaged pages can make SQLite go in circles.
            if not isinstance(seq, int) or seq <= self._seq:
                raise _damaged("facts out of order")
            self._seq = seq
            reading.add(crc, record)

    def _come_late(self, newest: bytes, reading: Reading) -> bool:
        """A writer that lost its core between pages and their index: nobody sees them before."""
        for _ in range(LATE_LOOKS):
            if self._opened is None or not is_being_written(self._run_dir):
                return False
            time.sleep(LATE_LOOK_S)
            self._read_forward(self._opened.connection, reading)
            if not commits_are_lost(newest, reading):
                return True
        return False

    def _salvage(self, reading: Reading, why: str) -> None:
        """Behind the damage: what SQLite reads from the end, then whatever looks like a record."""
        last = self._seq
        if self._opened:
            before = len(reading.facts)
            last = self._read_backward(self._opened.connection, reading)
            reading.facts[before:] = reversed(reading.facts[before:])
        self.close()
        carve_missing(self._run_dir, (DATABASE, WAL), reading)
        reading.skip(why, records=max(1, last - len(reading.facts) - reading.skipped))

    def _read_backward(self, connection: sqlite3.Connection, reading: Reading) -> int:
        """Returns the last fact's number, as far as it can be known."""
        last, before = self._seq, None
        try:
            for seq, crc, record in connection.execute(_BACKWARD, (self._seq,)):
                if not isinstance(seq, int) or (before is not None and seq >= before):
                    break
                last, before = max(last, seq), seq
                reading.add(crc, record)
        except sqlite3.DatabaseError:
            pass  # here begins, seen from the end, the damage that we were called for
        return last


def _open(run_dir: RunDir) -> _Opened | None:
    """None: the table is not there yet. Otherwise sqlite3.DatabaseError tells what is wrong."""
    try:
        return _with_table(_connect(folder_of(run_dir), "mode=ro"))
    except sqlite3.OperationalError as error:
        if _code(error) not in {sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY}:
            raise
    # SQLite must write an index beside a log to read it, and we may not write here.
    if not _size_of(run_dir, WAL):
        return _with_table(_connect(folder_of(run_dir), "immutable=1"))
    copy = TemporaryDirectory(prefix="holdfast-")
    try:
        for name in (DATABASE, WAL):
            _copy(run_dir, name, Path(copy.name, name))
        return _with_table(_connect(copy.name, "mode=rw"), copy)
    except BaseException:
        copy.cleanup()
        raise


def _with_table(
    connection: sqlite3.Connection, copy: "TemporaryDirectory[str] | None" = None
) -> _Opened | None:
    opened = _Opened(connection, copy)
    try:
        # First of all, for the others read the schema: with this, SQLite also opens a
        # database whose end is missing. Nothing is ever written.
        connection.execute("PRAGMA writable_schema=ON")
        connection.execute("PRAGMA trusted_schema=OFF")
        connection.execute(f"PRAGMA cache_size=-{_CACHE_KIB}")
        # A stranger's database could call a view, or a table that computes, by our name.
        plain = "SELECT 1 FROM sqlite_master WHERE type='table' AND name='facts' AND rootpage>0"
        if connection.execute(plain).fetchone():
            return opened
    except BaseException:
        opened.close()
        raise
    opened.close()
    return None


def _connect(folder: str, options: str) -> sqlite3.Connection:
    connection = sqlite3.connect(
        database_uri(folder, options),
        uri=True,
        timeout=_BUSY_WAIT_S,
        isolation_level=None,
        check_same_thread=False,
    )
    connection.text_factory = bytes
    return connection


def _copy(run_dir: RunDir, name: str, target: Path) -> None:
    with read_errors(run_dir.place(name)):
        source_fd = private.open_for_reading(name, dir_fd=run_dir.fd)
        with os.fdopen(source_fd, "rb") as source, target.open("wb") as file:
            shutil.copyfileobj(source, file)


def _size_of(run_dir: RunDir, name: str) -> int:
    try:
        return os.stat(name, dir_fd=run_dir.fd, follow_symlinks=False).st_size
    except FileNotFoundError:
        return 0


def _code(error: sqlite3.Error) -> int:
    """The kind of error, without SQLite's finer distinctions in the higher bits."""
    return error.sqlite_errorcode & 0xFF


def _damaged(why: str) -> sqlite3.DatabaseError:
    error = sqlite3.DatabaseError(why)
    error.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
    return error

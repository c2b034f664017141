"""The journal as one SQLite database, for directories on a local disk.

With a write-ahead log and synchronous=NORMAL a commit is one write without fsync: it outlives
us, not a loss of power, after which the database is whole but may miss its last seconds.
"""

import os
import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Self
from urllib.parse import quote

from holdfast.logdir import private_files as private
from holdfast.logdir.private_files import write_errors
from holdfast.logdir.run_dir import RunDir
from holdfast.model.codec import encode
from holdfast.model.errors import NotOurs, StorageFailed
from holdfast.model.facts import Fact

DATABASE = "journal.db"
WAL = f"{DATABASE}-wal"
APPLICATION_ID = 0x486F6C64  # "Hold"
WAL_BYTES_MAX = 16 << 20
_BESIDE = (WAL, f"{DATABASE}-shm", f"{DATABASE}-journal")
_BUSY_WAIT_S = 5.0
_CLOSE_WAIT_MS = 1000
_CACHE_KIB = 1024
_TABLE = """CREATE TABLE IF NOT EXISTS facts(
    seq INTEGER PRIMARY KEY, crc INTEGER NOT NULL, record BLOB NOT NULL)"""


class SqliteJournal:
    """The writer. Readers in other processes never wait for it, nor it for them."""

    def __init__(self, run_dir: RunDir, lock_fd: int) -> None:
        self._run_dir = run_dir
        self._place = run_dir.place(DATABASE)
        self._wal_bytes_seen = 0
        self._create_or_accept()
        self._closed = False
        with self._sqlite_errors():
            self._connection = _connect(run_dir)
            try:
                self._size = self._prepare()
            except BaseException:
                self._connection.close()
                raise
        self._lock_fd = lock_fd

    def append(self, *facts: Fact) -> None:
        records = [encode(fact) for fact in facts]
        rows = [
            (seq, zlib.crc32(record), record) for seq, record in enumerate(records, self._size + 1)
        ]
        with self._sqlite_errors():
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                self._connection.executemany("INSERT INTO facts VALUES (?, ?, ?)", rows)
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise
        self._size += len(rows)
        self._keep_wal_short()

    def size(self) -> int:
        return self._size

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        try:
            # A reader in the middle of its reading keeps us from this; then the log stays
            # beside the database, whole, and every reader of ours takes both.
            self._connection.execute(f"PRAGMA busy_timeout={_CLOSE_WAIT_MS}")
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            self._connection.execute("PRAGMA busy_timeout=0")
            # Without its log a database is one plain file: readable on read-only media, and
            # whole when somebody copies nothing but it.
            self._connection.execute("PRAGMA journal_mode=DELETE")
        except sqlite3.OperationalError:
            pass  # locked by a reader, or a full disk: nothing that was appended is lost
        finally:
            self._connection.close()
            os.close(self._lock_fd)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _create_or_accept(self) -> None:
        """SQLite would follow a link at our names, or play back a log that somebody planted."""
        dir_fd = self._run_dir.fd
        taken = []
        for name in (DATABASE, *_BESIDE):
            with write_errors(self._run_dir.place(name)):
                if private.refuse_unless_plain(name, dir_fd=dir_fd):
                    taken.append(name)
        if DATABASE in taken:
            return
        if taken:
            raise NotOurs(
                f"{self._run_dir.place(taken[0])} is there, but no {DATABASE} it belongs to",
                do="look where it comes from, then move it away or choose another directory",
            )
        with write_errors(self._place):
            os.close(private.create_file(DATABASE, flags=os.O_WRONLY, dir_fd=dir_fd))

    def _prepare(self) -> int:
        """Returns how many facts there are."""
        execute = self._connection.execute
        tables = execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        if tables and execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
            raise NotOurs(f"{self._place} is not our database", do="choose another run directory")
        execute(f"PRAGMA cache_size=-{_CACHE_KIB}")
        execute("PRAGMA synchronous=NORMAL")
        # The table before the log: so a reader finds an empty file or a whole database.
        if not tables:
            execute("BEGIN IMMEDIATE")
            execute(f"PRAGMA application_id={APPLICATION_ID}")
            execute(_TABLE)
            execute("COMMIT")
        execute("PRAGMA journal_mode=WAL")
        execute("PRAGMA wal_autocheckpoint=0")
        # The log shrinks when it starts anew, so its size tells how much is not checkpointed.
        execute("PRAGMA journal_size_limit=0")
        return int(execute("SELECT coalesce(max(seq), 0) FROM facts").fetchone()[0])

    def _keep_wal_short(self) -> None:
        """A checkpoint per 16 MiB of log; PASSIVE, so that no reader can make us wait."""
        try:
            wal_bytes = os.stat(WAL, dir_fd=self._run_dir.fd, follow_symlinks=False).st_size
        except OSError:
            return  # the facts are in; whatever is wrong will show at the next append
        if wal_bytes < self._wal_bytes_seen:
            self._wal_bytes_seen = 0
        if wal_bytes - self._wal_bytes_seen > WAL_BYTES_MAX:
            self._wal_bytes_seen = wal_bytes
            # A full disk, say: the facts are in the log, and the next append will tell.
            with suppress(sqlite3.OperationalError):
                self._connection.execute("PRAGMA wal_checkpoint(PASSIVE)")

    @contextmanager
    def _sqlite_errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise StorageFailed(
                f"cannot write {self._place}: {error}",
                do="look at the disk (df, dmesg), or choose another run directory",
            ) from error


def folder_of(run_dir: RunDir) -> str:
    """The path of the directory that we hold open, for SQLite, which knows only paths."""
    return os.readlink(f"/proc/self/fd/{run_dir.fd}")  # noqa: PTH115 - text, which quotes as it is


def database_uri(folder: str, options: str) -> str:
    return f"file:{quote(os.fsencode(folder))}/{DATABASE}?{options}"


def _connect(run_dir: RunDir) -> sqlite3.Connection:
    return sqlite3.connect(
        database_uri(folder_of(run_dir), "mode=rw"),
        uri=True,
        timeout=_BUSY_WAIT_S,
        isolation_level=None,
        check_same_thread=False,
    )

"""The journal of a run: one writer appends facts, anybody may read or follow them."""

import os
from typing import Protocol, Self

from holdfast.logdir.filesystem import filesystem_of, is_shared
from holdfast.logdir.journal_lock import lock_journal
from holdfast.logdir.journal_segments import SEGMENTS, SegmentJournal, SegmentReader
from holdfast.logdir.journal_sqlite import DATABASE, SqliteJournal, folder_of
from holdfast.logdir.journal_sqlite_read import SqliteReader
from holdfast.logdir.private_files import read_errors
from holdfast.logdir.replay import Reading, Replay
from holdfast.logdir.run_dir import RunDir
from holdfast.model.errors import MissingInput
from holdfast.model.facts import Fact

__all__ = [
    "Journal",
    "JournalFollower",
    "Replay",
    "follow_journal",
    "open_journal",
    "read_journal",
]

# SQLite refuses paths beyond 512 bytes, and adds an ending to ours.
_SQLITE_PATH_BYTES_MAX = 480


class Journal(Protocol):
    """Where one process appends what was seen. Calls may come from any thread, one at a time."""

    def append(self, *facts: Fact) -> None:
        """Returns when the facts outlive a kill -9 of this process: all of them, or none."""

    def size(self) -> int:
        """How many facts were appended since the journal was created."""

    def close(self) -> None: ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...


def open_journal(run_dir: RunDir, *, shared: bool | None = None) -> Journal:
    """The journal to append to: a new one, or the one that this run has already.

    A journal that exists keeps its kind of store, whatever `shared` says: split in two, it
    would have no order.
    """
    lock_fd = lock_journal(run_dir)
    try:
        if _has(run_dir, SEGMENTS):
            return SegmentJournal(run_dir, lock_fd)
        if not _has(run_dir, DATABASE) and _needs_segments(run_dir, shared):
            return SegmentJournal(run_dir, lock_fd)
        return SqliteJournal(run_dir, lock_fd)
    except BaseException:
        os.close(lock_fd)
        raise


def read_journal(run_dir: RunDir) -> Replay:
    """Every fact that can be read, of a run that goes on, has ended or was cut off.

    Damage is told in the replay, never raised.
    """
    reading = Reading()
    readers = _readers(run_dir)
    if not readers:
        raise MissingInput(
            f"there is no journal in {run_dir.path}",
            do="check the path: the run may have ended before it began",
        )
    for reader in readers:
        with reader:
            reader.read_all(reading)
    return reading.to_replay()


def follow_journal(run_dir: RunDir) -> "JournalFollower":
    return JournalFollower(run_dir)


class JournalFollower:
    """Reads what was appended since it last looked. The journal may come into being later."""

    def __init__(self, run_dir: RunDir) -> None:
        self._run_dir = run_dir
        self._reading = Reading()
        self._readers: list[SqliteReader | SegmentReader] = []

    def fresh(self) -> tuple[Fact, ...]:
        """The facts appended since the last call; the first call yields all there are."""
        self._readers = self._readers or _readers(self._run_dir)
        for reader in self._readers:
            reader.read_fresh(self._reading)
        return self._reading.take()

    @property
    def skipped(self) -> int:
        return self._reading.skipped

    @property
    def why_skipped(self) -> str:
        return self._reading.why_skipped

    def close(self) -> None:
        for reader in self._readers:
            reader.close()
        self._readers = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _readers(run_dir: RunDir) -> list[SqliteReader | SegmentReader]:
    found: list[SqliteReader | SegmentReader] = []
    if _has(run_dir, DATABASE):
        found.append(SqliteReader(run_dir))
    if _has(run_dir, SEGMENTS):
        found.append(SegmentReader(run_dir))
    return found


def _has(run_dir: RunDir, name: str) -> bool:
    with read_errors(run_dir.place(name)):
        try:
            os.stat(name, dir_fd=run_dir.fd, follow_symlinks=False)
        except FileNotFoundError:
            return False
    return True


def _needs_segments(run_dir: RunDir, shared: bool | None) -> bool:  # noqa: FBT001 - as the caller
    if shared is None:
        shared = is_shared(filesystem_of(run_dir.path))
    return shared or len(os.fsencode(folder_of(run_dir))) > _SQLITE_PATH_BYTES_MAX

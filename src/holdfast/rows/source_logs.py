"""The logs of one source, one after another: which is open, what is known, what went wrong."""

import contextlib
import json
import os
import struct
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from holdfast.in_task import fencing
from holdfast.rows import ahead, frames, layout
from holdfast.rows.errors import Held, RowsError, Unwritable, unwritable
from holdfast.rows.log import Log
from holdfast.rows.schema import Dataset

_WRITE_BYTES = 4 << 20
_LOOK_EVERY_NS = 100_000_000
_BEGIN_TRIES_MAX = 3


# Python's type for a dtype, and how `struct` packs it.
_PACKED_AS: dict[str, tuple[type, str]] = {
    "|b1": (bool, "<?"),
    "<f4": (float, "<f"),
    "<f8": (float, "<d"),
    "<i4": (int, "<i"),
    "<i8": (int, "<q"),
}


class Kept:
    """A dataset, how many rows of it this source has, and how many it had before this log."""

    __slots__ = ("dataset", "dtype", "id", "log_first_row", "row_shape", "rows", "scalars")

    def __init__(self, dataset: Dataset) -> None:
        self.dataset = dataset
        self.id = dataset.id
        self.dtype = dataset.numpy
        # No batch has the row shape None: text must be looked at, and has no short way.
        self.row_shape = None if dataset.is_text else dataset.row_shape
        self.scalars = _scalars(dataset)
        self.rows = 0
        self.log_first_row = 0


Piece = tuple[Kept, int, bytes]


def _scalars(dataset: Dataset) -> dict[type, Callable[[Any], bytes]]:
    """Single values that need no look: how they become the payload of one row.

    Python's numbers raise struct.error or OverflowError where they do not fit.
    """
    dtype = dataset.numpy
    if dtype is None or dataset.row_shape or dtype.str not in _PACKED_AS:
        return {}
    python, code = _PACKED_AS[dtype.str]
    return {python: struct.Struct(code).pack, dtype.type: np.generic.tobytes}


class SourceLogs:
    """Not thread-safe: the writer holds a lock while it calls."""

    def __init__(
        self, folder: Path, task: str, incarnation: int, *, on_disk: bool, is_ahead: bool = False
    ) -> None:
        self.folder = folder
        self.task = task
        self.incarnation = incarnation
        self.on_disk = on_disk
        self._is_ahead = is_ahead and not on_disk and ahead.pays_in(folder)
        self.kept: dict[str, Kept] = {}
        self.log: Log | None = None
        self.look_at_ns = 0
        self._stopped: RowsError | None = None
        self._uncut: Log | None = None
        self._number = 0
        self._first_unsynced = 1

    def ready(self) -> Log:
        """The open log; a new one if the last was closed. Raises why there can be none."""
        if self._stopped is not None:
            self._cut_again()
            # A fresh one: an exception that is raised again and again grows its traceback.
            raise type(self._stopped)(self._stopped.message, do=self._stopped.do)
        if self.log is None:
            self._refuse_if_outdated()
            self.log = self._begin()
        return self.log

    def write_rows(self, pieces: Iterable[Piece]) -> Log:
        """One group of frames: all of it or nothing. Memory is bounded if `pieces` is lazy."""
        log = self.ready()
        good_bytes = log.good_bytes
        before = [(kept, kept.rows) for kept in self.kept.values()]
        try:
            log.good_bytes = _write_frames(log, _frames_of(pieces))
        except BaseException as error:
            for kept, rows in before:
                kept.rows = rows
            self.take_back(log, good_bytes, error)
            raise
        return log

    def declare(self, dataset: Dataset) -> Log:
        """From now on rows of this dataset may be written, in this log and all that follow."""
        log = self.ready()
        good_bytes = log.good_bytes
        try:
            self.kept[dataset.name] = Kept(dataset)
            frame = _description(frames.DECLARATION, dataset.id, dataset.to_json())
            log.good_bytes = _write_frames(log, [frame])
        except BaseException as error:
            self.kept.pop(dataset.name, None)
            self.take_back(log, good_bytes, error)
            raise
        return log

    def set_attrs(self, kept: Kept, values: dict[str, Any]) -> Log:
        """Changes attributes of a dataset."""
        log = self.ready()
        good_bytes = log.good_bytes
        old = kept.dataset
        changed = old.with_attrs(values)
        try:
            kept.dataset = changed
            fresh = {key: changed.attrs[key] for key in values}
            frame = _description(frames.ATTRIBUTES, kept.id, fresh)
            log.good_bytes = _write_frames(log, [frame])
        except BaseException as error:
            kept.dataset = old
            self.take_back(log, good_bytes, error)
            raise
        return log

    def take_back(self, log: Log, good_bytes: int, error: BaseException) -> None:
        """After a write that failed: the log ends with its last whole group, and is closed.

        Raises Unwritable for what the system did not do; other errors are left to the caller.
        """
        self.log = None
        self._cut(log, good_bytes)
        if isinstance(error, OSError):
            raise unwritable(log.path, error) from error

    def sync_failed(self, log: Log, error: OSError) -> Unwritable:
        """After an fdatasync that failed: nobody knows what of it is on disk.

        What waited for it was not acknowledged, so it is taken back where that is possible.
        """
        failure = unwritable(log.path, error, do="look at the disk, then open a new writer")
        if self.log is log:
            self.log = None
            self._cut(log, log.sync.synced_bytes if self.on_disk else log.good_bytes)
        self.stop(failure)
        return failure

    def stop(self, why: RowsError) -> None:
        """From now on every call raises this, or what was first."""
        self._stopped = self._stopped or why

    def look(self, now_ns: int) -> None:
        """Finds out whether somebody removed the log under us, now and then."""
        self.look_at_ns = now_ns + _LOOK_EVERY_NS
        self._refuse_if_outdated()
        log = self.log
        if log is not None and log.is_gone():
            self.log = None
            with contextlib.suppress(OSError):
                log.close()
            self.stop(
                Unwritable(
                    f"{log.path} was removed while it was written",
                    do="find out who removed it, then open a new writer",
                )
            )
            self.ready()

    def _refuse_if_outdated(self) -> None:
        """Rows of an attempt that another one has taken the place of would count twice."""
        try:
            fencing.check()
        except fencing.Outdated as error:
            log, self.log = self.log, None
            if log is not None:
                with contextlib.suppress(OSError):
                    log.close()
            self.stop(Held(f"{self.task}: {error}", do="only the newest attempt may write rows"))
            self.ready()

    def end(self) -> None:
        """Closes the open log in order. What is in it stays acknowledged if that fails."""
        self._cut_again()
        log, self.log = self.log, None
        if log is None:
            return
        counts = {name: kept.rows - kept.log_first_row for name, kept in self.kept.items()}
        is_whole = False
        with contextlib.suppress(OSError):
            # A courtesy to readers: no room for it is no loss.
            log.good_bytes = _write_frames(log, [_description(frames.END, 0, {"rows": counts})])
            is_whole = True
        if not is_whole or log.has_filler:
            with contextlib.suppress(OSError):
                log.take_back(log.good_bytes)
        try:
            if self.on_disk:
                log.sync.wait(log.good_bytes)
                self._first_unsynced = log.number + 1
        except OSError as error:
            self.log = log
            raise self.sync_failed(log, error) from error
        with contextlib.suppress(OSError):
            log.close()

    def sync_closed(self) -> None:
        """Puts the logs before the open one on disk, and their names. Sealed ones are already."""
        upto = self._number if self.log is not None else self._number + 1
        try:
            for number in range(self._first_unsynced, upto):
                with contextlib.suppress(FileNotFoundError):
                    _sync_file(self.folder / layout.log_name(number))
            for folder in (self.folder, *list(self.folder.parents)[:2]):
                layout.sync_folder(folder)
        except OSError as error:
            raise unwritable(self.folder, error) from error
        self._first_unsynced = upto

    def _cut(self, log: Log, good_bytes: int) -> None:
        """Takes back what was not acknowledged, and closes the log."""
        try:
            log.take_back(good_bytes)
        except OSError as error:
            # Left open, and so locked: nobody shall take for whole what is to go.
            self._uncut = log
            self.stop(unwritable(log.path, error, do="open a new writer"))
        try:
            if self.on_disk:
                # Others may wait for what they wrote before: it is whole, and can be kept.
                log.sync.wait(good_bytes)
        except OSError as error:
            self.stop(unwritable(log.path, error, do="open a new writer"))
        if self._uncut is None:
            with contextlib.suppress(OSError):
                log.close()

    def _cut_again(self) -> None:
        """A disk that refused to cut a log may have recovered."""
        if self._uncut is not None:
            with contextlib.suppress(OSError):
                self._uncut.take_back(self._uncut.good_bytes)
                self._uncut.close()
                self._uncut = None

    def _begin(self) -> Log:
        """The next log: its header and all that was declared, so that it is readable alone."""
        about = {"format": layout.FORMAT, "task": self.task, "incarnation": self.incarnation}
        for left in reversed(range(_BEGIN_TRIES_MAX)):
            # Never the same number twice: a sealer may have seen the one that failed.
            self._number += 1
            descriptions = [_description(frames.LOG_HEADER, 0, {**about, "number": self._number})]
            for kept in self.kept.values():
                content = kept.dataset.to_json()
                descriptions.append(_description(frames.DECLARATION, kept.id, content))
            first = b"".join(part for pair in descriptions for part in pair)
            try:
                log = Log.begin(
                    self.folder,
                    self._number,
                    first,
                    on_disk=self.on_disk,
                    is_ahead=self._is_ahead,
                )
            except OSError as error:
                # Somebody may tidy up temporary names while we rename ours.
                if left and isinstance(error, FileNotFoundError) and self.folder.is_dir():
                    continue
                raise unwritable(self.folder, error) from error
            break
        for kept in self.kept.values():
            kept.log_first_row = kept.rows
        return log


def _description(kind: int, dataset_id: int, content: dict[str, Any]) -> tuple[bytes, bytes]:
    payload = json.dumps(content).encode()
    now_ns = time.time_ns()
    return frames.header_of(kind, payload, time_ns=now_ns, dataset_id=dataset_id), payload


def _frames_of(pieces: Iterable[Piece]) -> Iterator[tuple[bytes, bytes]]:
    """All but the last frame say that more of the group follows."""
    now = time.time_ns()
    last: Piece | None = None
    for piece in pieces:
        if last is not None:
            yield _rows_frame(last, frames.MORE_FOLLOWS, now)
        last = piece
    if last is not None:
        yield _rows_frame(last, 0, now)


def _rows_frame(piece: Piece, flags: int, now_ns: int) -> tuple[bytes, bytes]:
    kept, rows, payload = piece
    header = frames.header_of(
        frames.ROWS, payload, time_ns=now_ns, flags=flags, dataset_id=kept.id, rows=rows,
        first_row=kept.rows,
    )  # fmt: skip
    kept.rows += rows
    return header, payload


def _write_frames(log: Log, made: Iterable[tuple[bytes, bytes]]) -> int:
    """Small frames go together in one call; returns where the last one ends."""
    waiting: list[bytes] = []
    waiting_bytes = 0
    at = log.good_bytes
    for header, payload in made:
        waiting += (header, payload)
        waiting_bytes += len(header) + len(payload)
        if waiting_bytes >= _WRITE_BYTES:
            at = log.write(waiting, at)
            waiting, waiting_bytes = [], 0
    return log.write(waiting, at)


def _sync_file(path: Path) -> None:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fdatasync(fd)
    finally:
        os.close(fd)

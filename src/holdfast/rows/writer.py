"""The writer: appends batches to logs of its own, and returns when they are acknowledged."""

import atexit
import contextlib
import datetime as dt
import os
import socket
import struct
import threading
import weakref
from collections.abc import Iterator, Mapping
from os import pwritev  # a look-up less for each append
from pathlib import Path
from time import time_ns
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt

from holdfast.rows import layout
from holdfast.rows.errors import Refused, RowsError, Unwritable
from holdfast.rows.frames import (
    FRAME_PAYLOAD_BYTES,
    HEADER_BYTES,
    MAGIC,
    ROWS,
    pack_begin,
    pack_rest,
)
from holdfast.rows.log import Log
from holdfast.rows.schema import DATASETS_MAX, Dataset, declared, taken_from
from holdfast.rows.sealing_call import seal_later, seal_now
from holdfast.rows.source_logs import Kept, Piece, SourceLogs
from holdfast.rows.sums import sum_of

Ack = Literal["process", "disk"]
Seal = Literal["background", "close", "never"]

LOG_BYTES_MAX = 64 << 20
_TEXTS_PER_FRAME = 1 << 14
_join = b"".join
_open_writers: "weakref.WeakSet[Writer]" = weakref.WeakSet()


class Writer:
    """One incarnation of one task that writes rows. Any thread may call; a fork may not.

    `append` returns when the batch is acknowledged: written by this process (it survives a
    kill -9 of us) or, with ack="disk", on disk (it survives a power cut, too).
    """

    def __init__(
        self, logdir: str | os.PathLike[str], *, task: str, ack: Ack = "process",
        log_bytes_max: int = LOG_BYTES_MAX, seal: Seal = "background", way: str = "shards",
        claimed: int | None = None,
    ) -> None:  # fmt: skip
        _check_choice("ack", ack, ("process", "disk"))
        _check_choice("seal", seal, ("background", "close", "never"))
        layout.task_folder(task)
        self.logdir = Path(logdir).absolute()
        self.task = task
        self.ack = ack
        about = {
            "host": socket.gethostname(),
            "pid": os.getpid(),
            "started": dt.datetime.now(dt.UTC).isoformat(timespec="milliseconds"),
            "way": way,
            "ack": ack,
        }
        self.folder, self.incarnation = layout.make_source(
            layout.prepare(self.logdir), task, about, claimed=claimed
        )
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._seal = seal
        self._log_bytes_max = log_bytes_max
        self._is_closed = False
        self._on_disk = ack == "disk"
        self._logs = SourceLogs(
            self.folder, task, self.incarnation, on_disk=self._on_disk,
            is_ahead=way != layout.CENTRAL,
        )  # fmt: skip
        self._kept = self._logs.kept
        self._logs.ready()
        if self._on_disk:
            self._logs.sync_closed()
        _open_writers.add(self)

    def dataset(
        self, name: str, *, dtype: Any, shape: Any = (), attrs: dict[str, Any] | None = None,
        compression: str | None = None, chunk_rows: int | None = None,
    ) -> None:  # fmt: skip
        """Declares a dataset. The same again is fine; another schema is refused."""
        with self._lock:
            self._check_process()
            known = self._kept.get(name)
            made = declared(
                known.id if known else len(self._kept), name, dtype=dtype, shape=shape,
                attrs=attrs, compression=compression, chunk_rows=chunk_rows,
            )  # fmt: skip
            if known is None:
                log = self._declare(made)
            else:
                _check_same(known.dataset, made)
                fresh = {k: v for k, v in made.attrs.items() if known.dataset.attrs.get(k) != v}
                log = self._logs.set_attrs(known, fresh) if fresh else self._logs.ready()
            upto = log.good_bytes
        self._acknowledge(log, upto)

    def append(self, name: str, batch: Any) -> None:
        """Adds rows to a dataset: an array (rows, *row_shape), or one value if rows are scalars."""
        kept = self._kept.get(name)
        kind = type(batch)
        if kept is None:
            self.append_many({name: batch})
        elif (
            kind is np.ndarray
            and batch.dtype == kept.dtype
            and batch.shape[1:] == kept.row_shape
            and 0 < (nbytes := batch.nbytes) <= FRAME_PAYLOAD_BYTES
            and batch.ndim
        ):
            self._append(kept, len(batch), nbytes, batch)
        elif kind in kept.scalars:
            try:
                payload = kept.scalars[kind](batch)
            except (struct.error, OverflowError):
                self.append_many({name: batch})  # knows how to say what is wrong
            else:
                self._append(kept, 1, len(payload), payload)
        else:
            self.append_many({name: batch})

    def _append(self, kept: Kept, rows: int, nbytes: int, payload: Any) -> None:
        """One frame: the short way, where every microsecond counts."""
        logs = self._logs
        with self._lock:
            log = logs.log
            now = time_ns()
            # In a fork there is no log: see _forget_in_fork.
            if log is None or now > logs.look_at_ns:
                log = self._ready(now)
            first_row = kept.rows
            good_bytes = log.good_bytes
            rest = pack_rest(ROWS, 0, kept.id, rows, nbytes, first_row, now)
            # A copy, so that what is written is what was summed up, whoever changes the array.
            try:
                summed = _join((rest, payload))
            except TypeError:  # its rows do not lie one after the other
                summed = rest + payload.tobytes()
            frame = (pack_begin(MAGIC, sum_of(summed)), summed)
            upto = good_bytes + HEADER_BYTES + nbytes
            try:
                if upto > log.ahead_bytes:
                    log.go_ahead(good_bytes, upto)
                done = pwritev(log.fd, frame, good_bytes)
                if done != HEADER_BYTES + nbytes:
                    log.complete(frame, good_bytes, done)
                kept.rows = first_row + rows
                log.good_bytes = upto
            except BaseException as error:
                kept.rows = first_row
                logs.take_back(log, good_bytes, error)
                raise
            if upto >= self._log_bytes_max:
                self._rotate()
        if self._on_disk:
            self._acknowledge(log, upto)

    def append_many(self, batches: Mapping[str, Any]) -> None:
        """Adds rows to several datasets: all of them or nothing, with one acknowledgement."""
        with self._lock:
            self._check_process()
            log = self._ready(time_ns())
            known = [self._known_or_new(name, batch, batches) for name, batch in batches.items()]
            checked = [
                (dataset, dataset.check(batch))
                for dataset, batch in zip(known, batches.values(), strict=True)
            ]
            texts = {dataset.name: _packed_texts(dataset, rows) for dataset, rows in checked}
            for dataset, _ in checked:
                if dataset.name not in self._kept:
                    log = self._declare(dataset)
            if any(len(rows) for _, rows in checked):
                log = self._logs.write_rows(self._pieces(checked, texts))
            upto = log.good_bytes
            if upto >= self._log_bytes_max:
                self._rotate()
        self._acknowledge(log, upto)

    def attrs(self, name: str, **values: Any) -> None:
        """Sets attributes of a declared dataset."""
        with self._lock:
            self._check_process()
            kept = self._kept.get(name)
            if kept is None:
                raise Refused(f'there is no dataset "{name}" yet', do="declare it: .dataset()")
            log = self._logs.set_attrs(kept, values)
            upto = log.good_bytes
        self._acknowledge(log, upto)

    def flush(self) -> None:
        """Returns when all that was appended before survives a power cut, whatever `ack` is."""
        is_done = False
        while not is_done:
            with self._lock:
                log = self._ready(time_ns())
                upto = log.good_bytes
                self._logs.sync_closed()
            # Not done: another thread closed the log meanwhile, and the next one is open.
            is_done = self._sync(log, upto)

    def close(self) -> None:
        """Ends the log in order. Idempotent; a fork's close leaves the parent's log alone."""
        if self._pid != os.getpid():
            return
        with self._lock:
            if self._is_closed:
                return
            self._is_closed = True
            _open_writers.discard(self)
            try:
                if self._logs.log is not None:
                    self._logs.look(time_ns())
                self._logs.end()
            finally:
                self._logs.stop(Refused(f"the writer of {self.task} is closed", do="open another"))
        if self._seal == "background":
            seal_later(self.logdir)
        elif self._seal == "close":
            seal_now(self.folder)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        # Half-made writers have no log; at the interpreter's end atexit was here before.
        if hasattr(self, "_kept"):
            with contextlib.suppress(RowsError, OSError, ImportError):
                self.close()

    def _ready(self, now_ns: int) -> Log:
        self._check_process()
        if self._logs.log is not None:
            self._logs.look(now_ns)
        return self._logs.ready()

    def _check_process(self) -> None:
        if self._pid != os.getpid():
            raise Refused(
                f"this writer of {self.task} belongs to process {self._pid}, "
                f"and this is its fork {os.getpid()}",
                do="open a writer of its own after the fork, under another task name",
            )
        if self._is_closed:
            self._logs.ready()

    def _known_or_new(self, name: str, batch: Any, batches: Mapping[str, Any]) -> Dataset:
        kept = self._kept.get(name)
        if kept is not None:
            return kept.dataset
        fresh = [other for other in batches if other not in self._kept]
        made = taken_from(len(self._kept) + fresh.index(name), name, batch)
        _check_place(name, [*self._kept, *fresh])
        return made

    def _declare(self, made: Dataset) -> Log:
        if len(self._kept) >= DATASETS_MAX:
            raise Refused(
                f'dataset "{made.name}" is one too many: a writer has at most {DATASETS_MAX}',
                do="use columns of a row shape, or a compound dtype",
            )
        _check_place(made.name, self._kept)
        return self._logs.declare(made)

    def _pieces(
        self, checked: list[tuple[Dataset, npt.NDArray[Any]]], texts: dict[str, list[Any]]
    ) -> Iterator[Piece]:
        for dataset, rows in checked:
            kept = self._kept[dataset.name]
            if dataset.is_text:
                for count, payload in texts[dataset.name]:
                    yield kept, count, payload
                continue
            step = max(1, FRAME_PAYLOAD_BYTES // dataset.row_bytes)
            for start in range(0, len(rows), step):
                some = rows[start : start + step]
                yield kept, len(some), some.tobytes()

    def _rotate(self) -> None:
        self._logs.end()
        if self._seal == "background":
            seal_later(self.logdir)

    def _acknowledge(self, log: Log, upto: int) -> None:
        if self._on_disk and not self._sync(log, upto):
            raise Unwritable(f"{log.path} was closed before it was on disk", do="append again")

    def _sync(self, log: Log, upto: int) -> bool:
        try:
            return log.sync.wait(upto)
        except OSError as error:
            with self._lock:
                raise self._logs.sync_failed(log, error) from error

    def _forget_in_fork(self) -> None:
        """The child has no business with the parent's log: it must not keep its lock alive."""
        log, self._logs.log = self._logs.log, None
        self._lock = threading.Lock()
        if log is not None:
            with contextlib.suppress(OSError):
                os.close(log.fd)
            log.fd = -1


def _packed_texts(dataset: Dataset, rows: npt.NDArray[Any]) -> list[tuple[int, bytes]]:
    """Text is packed before anything is written: only packing shows what is not Unicode."""
    if not dataset.is_text:
        return []
    step = max(1, _TEXTS_PER_FRAME // dataset.items_per_row)
    cut = (rows[start : start + step] for start in range(0, len(rows), step))
    return [(len(some), dataset.pack(some)) for some in cut]


def _check_choice(what: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise Refused(f"{what}={value!r:.40} is unknown", do=f"use one of: {', '.join(choices)}")


def _check_same(old: Dataset, new: Dataset) -> None:
    for what in ("dtype", "row_shape", "compression", "chunk_rows"):
        was, asked = getattr(old, what), getattr(new, what)
        if was != asked and (asked is not None or what in {"dtype", "row_shape"}):
            raise Refused(
                f'dataset "{old.name}" has {what} {was}, and was declared again with {asked}',
                do="use another name for other rows",
            )


def _check_place(name: str, others: Mapping[str, Any] | list[str]) -> None:
    """In HDF5 a dataset is no folder."""
    for other in others:
        if other.startswith(f"{name}/") or name.startswith(f"{other}/"):
            raise Refused(
                f'dataset "{name}" and dataset "{other}" cannot lie one below the other',
                do="give one of them another name",
            )


def _close_all() -> None:
    for writer in list(_open_writers):
        with contextlib.suppress(RowsError, OSError):
            writer.close()


def _forget_all_in_fork() -> None:
    for writer in list(_open_writers):
        writer._forget_in_fork()  # noqa: SLF001 - the same class's hook
    _open_writers.clear()


atexit.register(_close_all)
os.register_at_fork(after_in_child=_forget_all_in_fork)

"""A writer whose log directory is an object store or HDFS: logs here, segments there."""

import atexit
import datetime as dt
import importlib
import json
import logging
import os
import socket
import threading
import weakref
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal
from urllib.parse import unquote, urlsplit

from holdfast.rows import layout, storage
from holdfast.rows.errors import Refused, RowsError, Unwritable
from holdfast.rows.spool import SPOOL_BYTES_MAX, spool_for, waiting_bytes
from holdfast.rows.store import Store, answered
from holdfast.rows.uploader import Uploader
from holdfast.rows.writer import LOG_BYTES_MAX, Writer

RemoteAck = Literal["process", "disk", "remote"]
UPLOAD_EVERY_S = 300.0
WAIT_S = 120.0
_CLAIMS_MAX = 10_000
_LOCAL = frozenset({"file", "local"})
_open_writers: "weakref.WeakSet[RemoteWriter]" = weakref.WeakSet()
log = logging.getLogger("holdfast.rows")


def open_remote(
    url: str, *, task: str, way: str = "shards", ack: RemoteAck = "process",
    log_bytes_max: int = LOG_BYTES_MAX, spool: str | os.PathLike[str] | None = None,
    spool_bytes_max: int = SPOOL_BYTES_MAX, upload_every_s: float = UPLOAD_EVERY_S,
    wait_s: float = WAIT_S, storage_options: Mapping[str, Any] | None = None,
) -> Writer:  # fmt: skip
    """A writer for a log directory that fsspec reaches, like s3://bucket/run.

    Rows are acknowledged by this host (`process`, `disk`) and wait in `spool` until their segment
    is uploaded: when a log is full, and every `upload_every_s`. With ack="remote" each append is
    a segment of its own, and returns when the store has confirmed it.
    """
    if way != "shards":
        raise Refused(f"way={way!r:.40} needs a folder, not {url:.80}", do='use way="shards"')
    if ack not in {"process", "disk", "remote"}:
        raise Refused(f"ack={ack!r:.40} is unknown", do="use process, disk or remote")
    layout.task_folder(task)
    # Now, not when the first log is full: to miss it then, or to load it while Python ends (which
    # crashes HDF5), would be too late.
    storage.hdf5()
    if urlsplit(url).scheme in _LOCAL:
        if ack == "remote":
            raise Refused('ack="remote" needs a remote directory', do='use ack="disk"')
        folder = unquote(urlsplit(url).path)
        return Writer(folder, task=task, ack=ack, log_bytes_max=log_bytes_max)
    here = spool_for(url, Path(spool) if spool is not None else None)
    store, incarnation = answered(url, lambda: _claimed(url, storage_options, here, task, ack))
    return RemoteWriter(
        store, here, task=task, ack=ack, incarnation=incarnation, log_bytes_max=log_bytes_max,
        spool_bytes_max=spool_bytes_max, upload_every_s=upload_every_s, wait_s=wait_s,
    )  # fmt: skip


class RemoteWriter(Writer):
    """A writer into the spool, and the uploader that empties it."""

    def __init__(
        self, store: Store, spool: Path, *, task: str, ack: RemoteAck, incarnation: int,
        log_bytes_max: int, spool_bytes_max: int, upload_every_s: float, wait_s: float,
    ) -> None:  # fmt: skip
        super().__init__(
            spool, task=task, ack="process" if ack == "remote" else ack, seal="never",
            log_bytes_max=log_bytes_max, claimed=incarnation,
        )  # fmt: skip
        self.url = store.shown
        self._is_remote_ack = ack == "remote"
        self._spool_bytes_max = spool_bytes_max
        self._waiting_bytes = 0
        self._wait_s = wait_s
        ours = weakref.ref(self)
        self._uploader = Uploader(
            self.folder,
            spool,
            store,
            end_log=lambda: _end_log_of(ours()),
            every_s=upload_every_s,
            wait_s=wait_s,
        )
        _open_writers.add(self)

    def append(self, name: str, batch: Any) -> None:
        """As any writer's; with ack="remote", returns when the store has the rows."""
        if self._waiting_bytes > self._spool_bytes_max:
            self._check_room()
        if self._is_remote_ack:
            self.append_many({name: batch})
        else:
            super().append(name, batch)

    def append_many(self, batches: Mapping[str, Any]) -> None:
        """As any writer's; with ack="remote", returns when the store has the rows."""
        if self._waiting_bytes > self._spool_bytes_max:
            self._check_room()
        super().append_many(batches)
        if self._is_remote_ack:
            self.upload()

    def upload(self) -> None:
        """Returns when the store has confirmed all that was appended before."""
        self._check_process()
        self._end_log()
        self._confirm(self._uploader.ask())

    def close(self) -> None:
        """Ends the log and waits until all is uploaded; raises where the rest lies if not."""
        if self._pid != os.getpid() or self._is_closed:
            return
        super().close()
        try:
            self._confirm(self._uploader.ask())
        finally:
            self._uploader.end()

    def _rotate(self) -> None:
        super()._rotate()
        self._waiting_bytes = waiting_bytes(self.folder)
        self._uploader.ask()

    def _end_log(self) -> None:
        """Closes the log if there are rows in it."""
        with self._lock:
            has_rows = any(kept.rows > kept.log_first_row for kept in self._kept.values())
            if self._logs.log is not None and has_rows:
                self._rotate()

    def _confirm(self, number: int) -> None:
        if self._uploader.wait(number, wait_s=self._wait_s):
            return
        why = self._uploader.trouble or f"no confirmation in {self._wait_s:g} s"
        raise Unwritable(
            f"rows of {self.task} are not yet in {self.url}: {why}",
            do=f"do not append them again: they wait in {self.folder}, and are uploaded when it "
            f"works again, by the next rows.open() of this log directory on this host, or by "
            f"`holdfast rows upload {self.logdir}`",
        )

    def _check_room(self) -> None:
        self._waiting_bytes = waiting_bytes(self.folder)
        if self._waiting_bytes > self._spool_bytes_max:
            why = self._uploader.trouble or "the store takes less than is appended"
            raise Unwritable(
                f"the spool {self.folder} is full: {self._waiting_bytes} bytes wait for {self.url} "
                f"({why})",
                do="mend the connection, wait, or give it more room: spool_bytes_max=...",
            )

    def _forget_in_fork(self) -> None:
        super()._forget_in_fork()
        self._uploader.forget_in_fork()


def _claimed(
    url: str, options: Mapping[str, Any] | None, spool: Path, task: str, ack: str
) -> tuple[Store, int]:
    """The store, seen to work, and a number for this incarnation that nobody else has."""
    store = Store(url, options)
    mark = {"format": layout.FORMAT}
    store.probe("rows/format.json", json.dumps(mark).encode())
    found = json.loads(store.read("rows/format.json") or b"{}")
    if found != mark:
        raise RowsError(
            f"{store.shown}/rows is of format {found!r:.80}, not {layout.FORMAT}",
            do="use the version of Holdfast that wrote it, or another log directory",
        )
    there = [layout.task_of_folder(name) for name in store.names("rows")]
    last = max((one[1] for one in there if one and one[0] == task), default=0)
    # What waits here has its name already, even if somebody emptied the store.
    last = max(last, layout.last_incarnation(layout.prepare(spool), task))
    for incarnation in range(last + 1, last + 1 + _CLAIMS_MAX):
        about = {
            "task": task,
            "incarnation": incarnation,
            "host": socket.gethostname(),
            "pid": os.getpid(),
            "started": dt.datetime.now(dt.UTC).isoformat(timespec="milliseconds"),
            "ack": ack,
        }
        name = f"rows/{layout.task_folder(task)}.{incarnation:04d}/source.json"
        if store.create(name, json.dumps(about).encode()):
            return store, incarnation
    raise Refused(f"{task} finds no free number in {store.shown}", do="use a new log directory")


def _end_log_of(writer: RemoteWriter | None) -> None:
    """The uploader does not keep alive a writer that nobody uses any more."""
    if writer is not None:
        writer._end_log()  # noqa: SLF001 - the same class's hook


def _close_all() -> None:
    """What is still open when the program ends; with atexit, HDF5 and asyncio would be gone."""
    for writer in list(_open_writers):
        try:
            writer.close()
        except RowsError as error:
            log.warning("%s", error)


# Those that registered last go first: behind us, no pool starts threads any more.
importlib.import_module("concurrent.futures.thread")
getattr(threading, "_register_atexit", atexit.register)(_close_all)

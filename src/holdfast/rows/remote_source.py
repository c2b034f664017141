"""The log of a writer on another host, kept here exactly as it would keep it itself."""

import json
import os
import threading
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from holdfast.rows import central_schema, frames, layout
from holdfast.rows.central_state import published
from holdfast.rows.errors import Refused, RowsError
from holdfast.rows.frames import Frame
from holdfast.rows.log import Log
from holdfast.rows.reading_log import LogContent
from holdfast.rows.schema import DATASETS_MAX, Dataset
from holdfast.rows.source_logs import Kept, SourceLogs

LOG_BYTES_MAX = 64 << 20
_LENGTH_BYTES = 4


class RemoteSource:
    """One session of one remote writer. One connection at a time holds `turn`."""

    def __init__(
        self, logdir: Path, about: dict[str, Any], *, folder: Path, incarnation: int
    ) -> None:
        self.folder = folder
        self.incarnation = incarnation
        self.task = str(about["task"])
        self.turn = threading.Lock()
        self.seen_s = time.monotonic()
        self.on_disk = about["ack"] == "disk"
        self._logdir = logdir
        self._logs = SourceLogs(folder, self.task, incarnation, on_disk=self.on_disk)
        self._by_id: dict[int, Kept] = {}
        self._rows: dict[str, int] = {}
        self._unsynced: Log | None = None

    @classmethod
    def opened(cls, logdir: Path, about: dict[str, Any]) -> "RemoteSource":
        """The source of this session, as it was left; a new one if there is none."""
        rows = layout.prepare(logdir)
        found = _folder_of(rows, str(about["task"]), str(about["session"]))
        if found is None:
            more = {key: value for key, value in about.items() if key != "task"}
            made, number = layout.make_source(
                rows, about["task"], {**more, "way": layout.CENTRAL, "is_remote": True}
            )
            return cls(logdir, about, folder=made, incarnation=number)
        source = cls(logdir, about, folder=found[0], incarnation=found[1])
        source._restore()
        return source

    def take(self, content: memoryview) -> None:
        """Writes one group of frames; what is here already is dropped. Returns when written."""
        found = _frames_in(content)
        first = found[0]
        if first.kind == frames.ROWS:
            is_new = self._are_new(found, content)
        elif len(found) == 1:
            is_new = self._is_news(first, content)
        else:
            raise Refused("a group of frames that is not of rows")
        if not is_new:
            return
        self._write(content)
        for frame in found:
            if frame.kind == frames.ROWS:
                self._by_id[frame.dataset_id].rows += frame.rows

    def sync(self) -> None:
        """Puts what was taken on disk, if this writer asked for that."""
        log, self._unsynced = self._unsynced, None
        if log is None or not self.on_disk or log.fd < 0:
            return
        try:
            log.sync.wait(log.good_bytes)
        except OSError as error:
            raise self._logs.sync_failed(log, error) from error

    def flush(self) -> None:
        """Puts all of it on disk, whatever this writer asked for."""
        log = self._logs.log
        self._logs.sync_closed()
        if log is not None:
            try:
                log.sync.wait(log.good_bytes)
            except OSError as error:
                raise self._logs.sync_failed(log, error) from error

    def end(self) -> None:
        """Closes the log in order. A message that still comes begins another."""
        self._logs.end()

    def _write(self, content: memoryview) -> None:
        logs = self._logs
        now_ns = time.time_ns()
        if now_ns > logs.look_at_ns:
            logs.look(now_ns)
        log = logs.ready()
        good_bytes = log.good_bytes
        try:
            log.good_bytes = log.write([content], good_bytes)  # type: ignore[list-item]
        except BaseException as error:
            logs.take_back(log, good_bytes, error)
            raise
        self._unsynced = log
        if log.good_bytes >= LOG_BYTES_MAX:
            logs.end()

    def _are_new(self, found: list[Frame], content: memoryview) -> bool:
        next_rows: dict[int, int] = {}
        for frame in found:
            kept = self._by_id.get(frame.dataset_id)
            if frame.kind != frames.ROWS or kept is None or not _fits(kept.dataset, frame, content):
                raise Refused("a frame that is not as its dataset was declared")
            expected = next_rows.setdefault(frame.dataset_id, frame.first_row)
            if frame.first_row != expected:
                raise Refused("row numbers that do not follow each other")
            next_rows[frame.dataset_id] = expected + frame.rows
        firsts = {
            frame.dataset_id: frame.first_row for frame in reversed(found)
        }  # reversed: the first one stays
        if all(self._by_id[number].rows == first for number, first in firsts.items()):
            return True
        if all(self._by_id[number].rows >= end for number, end in next_rows.items()):
            return False
        raise Refused(
            f"rows of {self.task} that do not go on where its log ends",
            do="open a new writer; this should not happen, please report it",
        )

    def _is_news(self, frame: Frame, content: memoryview) -> bool:
        try:
            told = json.loads(bytes(content[frame.offset :]))
        except (ValueError, RecursionError) as error:
            raise Refused("a description that is not JSON") from error
        if frame.kind == frames.DECLARATION:
            return self._is_new_dataset(Dataset.from_json(told))
        kept = self._by_id.get(frame.dataset_id)
        if frame.kind != frames.ATTRIBUTES or kept is None or not isinstance(told, dict):
            raise Refused("a description that nobody understands")
        if len(content) > frames.HEADER_BYTES + (1 << 20):
            raise Refused("a description that is too long")
        changed = kept.dataset.with_attrs(told)
        if changed != kept.dataset:
            self._write(content)
            kept.dataset = changed
        return False  # it is written already

    def _is_new_dataset(self, dataset: Dataset) -> bool:
        kept = self._by_id.get(dataset.id)
        if kept is not None:
            same = replace(dataset, attrs=kept.dataset.attrs) == kept.dataset
            if same:
                return False
            raise Refused(f"dataset {dataset.name} has the number of another one")
        if dataset.id != len(self._by_id) or dataset.id >= DATASETS_MAX:
            raise Refused(f"dataset {dataset.name} does not have the next number")
        if dataset.name in self._logs.kept:
            raise Refused(f"dataset {dataset.name} is declared twice")
        central_schema.agree(self._logdir, dataset, task=self.task)
        self._unsynced = self._logs.declare(dataset)
        made = self._by_id[dataset.id] = self._logs.kept[dataset.name]
        made.rows = made.log_first_row = self._rows.get(dataset.name, 0)
        return False  # it is written already

    def _restore(self) -> None:
        """How many rows of each dataset are safe already. The sender declares them anew.

        The logs come before the segments: a log that goes away in between is in a segment.
        """
        numbers = sorted(
            number
            for entry in os.scandir(self.folder)
            if (number := layout.part_number(entry.name, ".log")) is not None
        )
        for number in reversed(numbers):
            try:
                content = LogContent(self.folder / layout.log_name(number))
            except FileNotFoundError:
                continue
            with content:
                for block in content.blocks:
                    name, end = block.dataset.name, block.first_row + block.rows
                    self._rows[name] = max(end, self._rows.get(name, 0))
            if content.datasets.keys() <= self._rows.keys():
                break
        position = published(self._logdir).positions.get(self.folder.name)
        for name, count in (position.rows if position else {}).items():
            self._rows[name] = max(count, self._rows.get(name, 0))
        last = max(numbers[-1] if numbers else 0, position.log if position else 0)
        self._logs._number = last  # noqa: SLF001 - as if these logs had been its own


def _folder_of(rows: Path, task: str, session: str) -> tuple[Path, int] | None:
    for folder in list(rows.iterdir()):
        found = layout.task_of_folder(folder.name)
        if found is None or found[0] != task:
            continue
        with suppress(RowsError):
            if layout.read_source(folder).get("session") == session:
                return folder, found[1]
    return None


def _frames_in(content: memoryview) -> list[Frame]:
    """The frames of one group, each of them whole."""
    found: list[Frame] = []
    at = 0
    while at < len(content):
        frame = frames.frame_at(content, at)
        if frame is None:
            raise Refused("frames that were damaged on their way")
        at = frame.offset + frame.nbytes
        if bool(frame.flags & frames.MORE_FOLLOWS) != (at < len(content)):
            raise Refused("frames that are no whole group")
        found.append(frame)
    if not found:
        raise Refused("a message without frames")
    return found


def _fits(dataset: Dataset, frame: Frame, content: memoryview) -> bool:
    if frame.rows == 0 or frame.nbytes > frames.ROW_BYTES_MAX:
        return False
    if not dataset.is_text:
        return frame.nbytes == frame.rows * dataset.row_bytes
    count = frame.rows * dataset.items_per_row
    if frame.nbytes < count * _LENGTH_BYTES:
        return False
    payload = content[frame.offset : frame.offset + frame.nbytes]
    lengths = np.frombuffer(payload[: count * _LENGTH_BYTES], dtype="<u4")
    text = payload[count * _LENGTH_BYTES :]
    return int(lengths.sum(dtype=np.uint64)) == len(text) and b"\0" not in bytes(text)

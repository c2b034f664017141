"""Reads a log: its whole frames, and where they stop."""

import json
import mmap
import os
from pathlib import Path
from typing import Any, Self

import numpy.typing as npt

from holdfast.rows import frames
from holdfast.rows.ahead import written_bytes
from holdfast.rows.blocks import Block
from holdfast.rows.errors import Refused
from holdfast.rows.frames import Frame, Tail
from holdfast.rows.layout import FORMAT
from holdfast.rows.schema import Dataset

_END_BYTES_MAX = 1 << 20


class LogContent:
    """The rows of a log that count, as they were when it was opened. A context manager.

    Arrays of `rows_of` look into the file: they must not outlive it being open... they keep
    the map alive themselves, so closing is safe in any order.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.datasets: dict[str, Dataset] = {}
        self.blocks: list[Block] = []
        self.tail: Tail | None = None
        self.header: dict[str, Any] = {}
        self.end: dict[str, Any] | None = None
        self._map: mmap.mmap | None = None
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            total_bytes = os.fstat(fd).st_size
            good_bytes = _Reader(self).read(fd, total_bytes)
            if good_bytes:
                self._map = mmap.mmap(fd, good_bytes, access=mmap.ACCESS_READ)
        finally:
            os.close(fd)

    def rows_of(self, block: Block) -> npt.NDArray[Any]:
        """The rows of a block of this log: a read-only view of the file; text as objects."""
        view = memoryview(self._map or b"")[block.offset : block.offset + block.nbytes]
        return block.dataset.unpack(view, block.rows)

    def close(self) -> None:
        """Arrays that were given out keep the file mapped until they are gone."""
        self._map = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Reader:
    """Goes through the frames of one log, and believes only what fits together."""

    def __init__(self, content: LogContent) -> None:
        self._content = content
        self._by_id: dict[int, Dataset] = {}
        self._next_row: dict[int, int] = {}
        self._group: list[Block] = []
        self._at = 0

    def read(self, fd: int, total_bytes: int) -> int:
        """Fills the content; returns how many bytes of the file count."""
        written = written_bytes(fd, total_bytes)
        scanning = frames.scan(fd, total_bytes, written)
        good_bytes = 0
        wrong = ""
        while True:
            try:
                frame, payload = next(scanning)
            except StopIteration as stop:
                tail: Tail | None = stop.value
                wrong = tail.why if tail else ""
                break
            wrong = self._take(frame, payload)
            if wrong:
                break
            if not self._group:
                good_bytes = frame.offset + frame.nbytes
        if self._group and not wrong:
            wrong = "the last group of frames is cut"
        if good_bytes < written:
            self._content.tail = Tail(good_bytes, written, wrong)
        return good_bytes

    def _take(self, frame: Frame, payload: bytes) -> str:
        """Adds what a frame says; tells what is wrong with it."""
        content = self._content
        if (frame.kind == frames.LOG_HEADER) != (frame.offset == frames.HEADER_BYTES):
            return "a log begins with its header, once"
        if content.end is not None:
            return "something lies behind the end"
        if frame.kind == frames.ROWS:
            return self._take_rows(frame)
        if self._group:
            return "a group of frames is not whole"
        try:
            described = json.loads(payload)
            if not isinstance(described, dict):
                return "a description is no object"
            return self._take_description(frame, described)
        except (ValueError, RecursionError, Refused) as error:
            return f"a description is not understood: {error}"

    def _take_description(self, frame: Frame, described: dict[str, Any]) -> str:
        content = self._content
        match frame.kind:
            case frames.LOG_HEADER:
                content.header = described
                if described.get("format") != FORMAT:
                    return "the format is another"
            case frames.DECLARATION:
                dataset = Dataset.from_json(described)
                if dataset.id in self._by_id or dataset.name in content.datasets:
                    return "a dataset is declared twice"
                self._by_id[dataset.id] = content.datasets[dataset.name] = dataset
            case frames.ATTRIBUTES:
                if frame.dataset_id not in self._by_id:
                    return "attributes of an unknown dataset"
                dataset = self._by_id[frame.dataset_id].with_attrs(described)
                self._by_id[dataset.id] = content.datasets[dataset.name] = dataset
            case frames.END:
                content.end = described
            case _:
                return "a frame of unknown kind"
        return ""

    def _take_rows(self, frame: Frame) -> str:
        dataset = self._by_id.get(frame.dataset_id)
        if dataset is None:
            return "rows of an unknown dataset"
        least = frame.rows * dataset.row_bytes
        if (
            frame.rows == 0
            or frame.nbytes < least
            or (frame.nbytes > least and not dataset.is_text)
        ):
            return "rows of another size than declared"
        if frame.first_row != self._next_row.get(frame.dataset_id, frame.first_row):
            return "row numbers do not follow each other"
        self._next_row[frame.dataset_id] = frame.first_row + frame.rows
        self._group.append(
            Block(dataset, frame.first_row, frame.rows, frame.time_ns, frame.offset, frame.nbytes)
        )
        if not frame.flags & frames.MORE_FOLLOWS:
            self._content.blocks += self._group
            self._group = []
        return ""


def ends_in_order(path: Path) -> bool:
    """Whether the last frame says that the log was closed; looks at the end of the file only."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        size = os.fstat(fd).st_size
        start = max(0, size - _END_BYTES_MAX)
        tail = os.pread(fd, _END_BYTES_MAX, start)[: written_bytes(fd, size) - start]
    except OSError:
        return False
    finally:
        os.close(fd)
    at = tail.rfind(frames.MAGIC)
    while at >= 0:
        found = frames.frame_at(tail, at)
        if found is not None:
            return found.kind == frames.END and found.offset + found.nbytes == len(tail)
        at = tail.rfind(frames.MAGIC, 0, at)
    return False

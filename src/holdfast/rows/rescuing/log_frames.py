"""All whole frames of a log, also behind damage: found by magic, proven by checksum."""

import json
import mmap
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from holdfast.rows import frames
from holdfast.rows.ahead import written_bytes
from holdfast.rows.errors import Refused
from holdfast.rows.frames import Frame
from holdfast.rows.schema import Dataset

DAMAGES_MAX = 100_000


@dataclass(frozen=True)
class Damage:
    """Bytes that are no whole frame. `is_cut`: a last write that was never acknowledged."""

    path: Path
    start: int
    stop: int
    is_cut: bool

    def __str__(self) -> str:
        place = f"{self.path.name}, bytes {self.start} to {self.stop}"
        if self.is_cut:
            return f"{place}: the last write was cut short; it was never acknowledged"
        return f"{place}: damaged"


@dataclass
class LogFrames:
    """What was found in one log."""

    path: Path
    rows: list[Frame] = field(default_factory=list)
    datasets: dict[int, Dataset] = field(default_factory=dict)
    damages: list[Damage] = field(default_factory=list)
    end: dict[str, Any] | None = None


def read_log(path: Path, *, is_over: bool) -> LogFrames:
    """Every frame that proves itself. One that is still written is read as it is now."""
    found = LogFrames(path)
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        total = os.fstat(fd).st_size
        # Before all else: what lies before this was written, and stays; what lies behind may be
        # overtaken by its writer while it is read.
        written = written_bytes(fd, total)
        if not is_over:
            # Its writer may take back a half-written frame: a map would end this process.
            content = path.read_bytes()
            _frames(found, content, memoryview(content), min(written, len(content)))
        elif total:
            with (
                mmap.mmap(fd, total, access=mmap.ACCESS_READ) as mapped,
                memoryview(mapped) as view,
            ):
                _frames(found, mapped, view, written)
    finally:
        os.close(fd)
    return found


def _frames(found: LogFrames, content: mmap.mmap | bytes, view: memoryview, total: int) -> None:
    """Those that begin before `total`."""
    at = 0
    group: list[Frame] = []  # of an unfinished one
    while at < total:
        frame = frames.frame_at(view, at)
        if frame is None:
            behind = _next(content, view, at + 1, total)
            is_cut = behind == total and _is_cut(view, at, total)
            # What came before the damage is whole by itself, whatever became of its group.
            if not is_cut:
                found.rows += group
                group = []
            if len(found.damages) < DAMAGES_MAX:
                found.damages.append(Damage(found.path, at, behind, is_cut))
            at = behind
            continue
        if frame.kind == frames.ROWS:
            group.append(frame)
            if not frame.flags & frames.MORE_FOLLOWS:
                found.rows += group
                group = []
        else:
            _describe(found, frame, bytes(view[frame.offset : frame.offset + frame.nbytes]))
        at = frame.offset + frame.nbytes
    if group:
        start = group[0].offset - frames.HEADER_BYTES
        found.damages.append(Damage(found.path, start, at, is_cut=True))


def _next(content: mmap.mmap | bytes, view: memoryview, start: int, total: int) -> int:
    """Where the next whole frame begins; the end if there is none."""
    at = start
    while 0 <= (at := content.find(frames.MAGIC, at)) < total:
        if frames.frame_at(view, at) is not None:
            return at
        at += 1
    return total


def _is_cut(view: memoryview, at: int, total: int) -> bool:
    """Whether a frame begins here that would end behind the end of the file."""
    rest = bytes(view[at : min(at + frames.HEADER_BYTES, total)])
    if len(rest) < frames.HEADER_BYTES:
        return frames.MAGIC.startswith(rest[:4])
    nbytes = frames.HEADER.unpack(rest)[6]
    return rest[:4] == frames.MAGIC and at + frames.HEADER_BYTES + nbytes > total


def _describe(found: LogFrames, frame: Frame, payload: bytes) -> None:
    """Declarations and attributes; one that is not understood counts as damage, whole as it is."""
    try:
        told = json.loads(payload)
        if frame.kind == frames.DECLARATION:
            dataset = Dataset.from_json(told)
            found.datasets[dataset.id] = dataset
        elif frame.kind == frames.ATTRIBUTES and frame.dataset_id in found.datasets:
            known = found.datasets[frame.dataset_id]
            found.datasets[known.id] = known.with_attrs(told)
        elif frame.kind == frames.END and isinstance(told, dict):
            found.end = told
    except (ValueError, RecursionError, Refused, TypeError, AttributeError):
        start = frame.offset - frames.HEADER_BYTES
        stop = frame.offset + frame.nbytes
        found.damages.append(Damage(found.path, start, stop, is_cut=False))

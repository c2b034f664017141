"""Reading what writers left: sources, their parts, and the rows in each part."""

import fcntl
import os
import socket
from dataclasses import dataclass
from pathlib import Path

from holdfast.rows import layout
from holdfast.rows.blocks import Block
from holdfast.rows.errors import Damaged, RowsError
from holdfast.rows.frames import Tail
from holdfast.rows.reading_log import LogContent, ends_in_order
from holdfast.rows.reading_segment import SegmentContent

__all__ = [
    "Block", "LogContent", "Part", "PartContent", "SegmentContent", "Source", "Tail",
    "parts", "read_part", "source_in", "sources",
]  # fmt: skip

PartContent = LogContent | SegmentContent


@dataclass(frozen=True)
class Source:
    """One incarnation of one writer, and where its rows lie."""

    task: str
    incarnation: int
    folder: Path
    host: str
    pid: int
    started: str


@dataclass(frozen=True)
class Part:
    """One log or the segment made of it. `is_over`: nobody will add to it any more."""

    source: Source
    number: int
    path: Path
    is_segment: bool
    is_over: bool


def sources(logdir: str | os.PathLike[str]) -> list[Source]:
    """Who wrote into this log directory, by role, index and incarnation. None yet is fine."""
    folder = layout.rows_folder(logdir)
    layout.check_format(folder)
    try:
        names = [entry.name for entry in os.scandir(folder) if entry.is_dir(follow_symlinks=False)]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise RowsError(f"cannot read {folder}: {error.strerror}", do="look at the disk") from error
    found = [source_in(folder / name) for name in names if layout.task_of_folder(name)]
    return sorted(found, key=lambda one: (*layout.task_order(one.task), one.incarnation))


def source_in(folder: Path) -> Source:
    """The source that lies in this folder; the central one is named as its folder."""
    task, incarnation = layout.task_of_folder(folder.name) or (folder.name, 0)
    about = layout.read_source(folder)
    pid = about.get("pid")
    return Source(
        task=task,
        incarnation=incarnation,
        folder=folder,
        host=str(about.get("host", "")),
        pid=pid if isinstance(pid, int) else 0,
        started=str(about.get("started", "")),
    )


def parts(source: Source) -> list[Part]:
    """The parts of a source in order. A segment wins over the log that it was made of."""
    try:
        names = [path.name for path in source.folder.iterdir()]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise RowsError(
            f"cannot read {source.folder}: {error.strerror}", do="look at the disk"
        ) from error
    segments = {number for name in names if (number := layout.part_number(name, ".h5")) is not None}
    logs = {number for name in names if (number := layout.part_number(name, ".log")) is not None}
    last = max(segments | logs, default=0)
    return [
        _segment(source, number) if number in segments else _log(source, number, last)
        for number in sorted(segments | logs)
    ]


def read_part(part: Part) -> PartContent:
    """What is in a part; close it after use. A log that was sealed meanwhile: its segment."""
    if part.is_segment:
        return SegmentContent(part.path)
    try:
        return LogContent(part.path)
    except FileNotFoundError:
        segment = part.path.with_name(layout.segment_name(part.number))
        if segment.exists():
            return SegmentContent(segment)
        raise Damaged(f"{part.path} is gone", do="look for who removed it") from None
    except OSError as error:
        raise Damaged(
            f"cannot read {part.path}: {error.strerror}", do="look at the disk"
        ) from error


def _segment(source: Source, number: int) -> Part:
    path = source.folder / layout.segment_name(number)
    return Part(source=source, number=number, path=path, is_segment=True, is_over=True)


def _log(source: Source, number: int, last: int) -> Part:
    path = source.folder / layout.log_name(number)
    # A writer writes one log at a time, so that a later one is proof enough.
    is_over = number < last or _is_left(source, path) or ends_in_order(path)
    return Part(source=source, number=number, path=path, is_segment=False, is_over=is_over)


def _is_left(source: Source, path: Path) -> bool:
    """Whether its writer is gone, as far as this host can tell."""
    if source.host != socket.gethostname():
        return False
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(fd)
    return True

"""Rescues a log directory: every whole frame of every log, every row of segments that reads.

In the new file each source is a group (`worker-3.0001`), with its datasets at their own names;
`_holdfast_rows/worker-3.0001/NAME` says which row numbers of the source they are.
"""

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from holdfast.rows import layout, publishing
from holdfast.rows.errors import RowsError
from holdfast.rows.reading import Part, Source, parts, source_in
from holdfast.rows.rescuing import foreign
from holdfast.rows.rescuing.log_frames import Damage, LogFrames, read_log
from holdfast.rows.rescuing.look import look
from holdfast.rows.rescuing.reader import Reader
from holdfast.rows.rescuing.report import (
    LOST,
    PART,
    WHOLE,
    LostObject,
    LostRows,
    Rescued,
    RescuedDataset,
)
from holdfast.rows.schema import Dataset

NOTES_MAX = 1000
FOLDER = "folder"


@dataclass(frozen=True)
class Piece:
    """Rows that read: of a log, the bytes of a frame; of a segment, rows of a dataset."""

    path: Path
    first_row: int
    rows: int
    offset: int  # in a log, bytes; in a segment, rows
    nbytes: int = 0  # 0: of a segment


@dataclass
class _Source:
    """What was found of one source."""

    source: Source
    datasets: dict[int, Dataset] = field(default_factory=dict)
    pieces: dict[int, list[Piece]] = field(default_factory=dict)
    unread: dict[int, list[LostRows]] = field(default_factory=dict)
    damages: list[Damage] = field(default_factory=list)
    lost: list[LostObject] = field(default_factory=list)
    stops: dict[int, int] = field(default_factory=dict)  # behind the last row that ever was


def rescue_folder(path: Path, to: Path, reader: Reader) -> Rescued:
    """Everything that reads goes into `to`; nothing in the folder is changed."""
    folder = path if (path / "format.json").exists() else layout.rows_folder(path)
    if not folder.is_dir():
        return Rescued(path, "foreign", "it holds no rows: there is no folder rows/ in it")
    found = [_read_source(one, reader) for one in _sources(folder)]
    told = [
        (f"{one.source.folder.name}/{dataset.name}", dataset, _in_order(one.pieces.get(number, [])))
        for one in found
        for number, dataset in sorted(one.datasets.items())
    ]
    lost = [loss for one in found for loss in one.lost]
    why = ""
    with publishing.private_path(to) as private:
        is_written = any(pieces for _, _, pieces in told)
        if is_written:
            why = _written(private, told, reader)
            is_written = not why
        if is_written:
            publishing.publish_new(private, to)
    if why:
        lost.append(LostObject("/", why))
    datasets = [
        _reported(one, number, is_written=is_written)
        for one in found
        for number in sorted(one.datasets)
    ]
    damages = [damage for one in found for damage in one.damages]
    lost += [LostObject(one.path.parent.name, f"{one}") for one in damages if not one.is_cut]
    return Rescued(
        path,
        FOLDER,
        f"rows of {len(found)} source{'' if len(found) == 1 else 's'}",
        to if is_written else None,
        tuple(datasets),
        tuple(lost[:NOTES_MAX]),
        tuple(f"{one.path.parent.name}: {one}" for one in damages if one.is_cut)[:NOTES_MAX],
    )


def _sources(folder: Path) -> list[Source]:
    """All of them, also where a description of one is damaged."""
    names = [entry.name for entry in os.scandir(folder) if entry.is_dir(follow_symlinks=False)]
    named = [name for name in names if layout.task_of_folder(name) or name == layout.CENTRAL]
    return [_source(folder / name) for name in sorted(named, key=_order)]


def _order(name: str) -> tuple[tuple[str, int], int]:
    task, incarnation = layout.task_of_folder(name) or (name, 0)
    return layout.task_order(task), incarnation


def _source(folder: Path) -> Source:
    try:
        return source_in(folder)
    except RowsError:
        task, incarnation = layout.task_of_folder(folder.name) or (folder.name, 0)
        return Source(task, incarnation, folder, host="", pid=0, started="")


def _read_source(source: Source, reader: Reader) -> _Source:
    found = _Source(source)
    logs: list[LogFrames] = []
    for part in parts(source):
        try:
            log = part.path.with_name(layout.log_name(part.number))
            if part.is_segment and _segment(found, part, reader):
                continue
            if part.is_segment and not log.exists():
                continue
            logs.append(read_log(log, is_over=part.is_over))
        except OSError as error:
            found.lost.append(LostObject(f"{source.folder.name}/{part.path.name}", f"{error}"))
    for one in logs:
        found.datasets = {**one.datasets, **found.datasets}
        found.damages += one.damages
    for one in logs:
        _take_log(found, one)
    return found


def _take_log(found: _Source, log: LogFrames) -> None:
    """Frames of a log whose declarations are lost are read by those of the source's other logs."""
    _count(found, log)
    for frame in log.rows:
        dataset = found.datasets.get(frame.dataset_id)
        least = frame.rows * dataset.row_bytes if dataset else 0
        if (
            dataset is None
            or frame.nbytes < least
            or (frame.nbytes > least and not dataset.is_text)
        ):
            found.lost.append(
                LostObject(
                    f"{found.source.folder.name}/{log.path.name}",
                    f"{frame.rows} rows of dataset number {frame.dataset_id}, whose declaration"
                    " is damaged everywhere",
                )
            )
            continue
        found.pieces.setdefault(dataset.id, []).append(
            Piece(log.path, frame.first_row, frame.rows, frame.offset, frame.nbytes)
        )


def _count(found: _Source, log: LogFrames) -> None:
    """A log that was closed in order says how many rows it holds: so many there were."""
    counts = (log.end or {}).get("rows")
    for dataset in found.datasets.values():
        mine = [frame for frame in log.rows if frame.dataset_id == dataset.id]
        before = found.stops.get(dataset.id, 0)
        stop = max([before, *(frame.first_row + frame.rows for frame in mine)])
        told = counts.get(dataset.name) if isinstance(counts, dict) else None
        if isinstance(told, int):
            stop = max(stop, before + told)
        found.stops[dataset.id] = stop


def _segment(found: _Source, part: Part, reader: Reader) -> bool:
    """Whether all of a segment could be read: else its log is asked, where there still is one."""
    seen = look(part.path)
    told = foreign.walked(part.path, seen, reader) if seen.is_hdf5 else None
    where = f"{found.source.folder.name}/{part.path.name}"
    if told is None or told.failed or not told.declared:
        why = seen.says if told is None else told.failed or "its description does not read"
        found.lost.append(LostObject(where, why))
        return False
    whole = True
    for one in foreign.datasets_of(told):
        declared = told.declared.get(one.name)
        dataset = _declared(declared)
        if declared is None or dataset is None:
            continue
        found.datasets.setdefault(dataset.id, dataset)
        first = int(declared.get("first_row", 0))
        found.stops[dataset.id] = max(found.stops.get(dataset.id, 0), first + one.rows)
        whole = whole and one.state == WHOLE
        good = [] if one.state not in (WHOLE, PART) else _good(one)
        pieces = [Piece(part.path, first + start, stop - start, start) for start, stop in good]
        found.pieces.setdefault(dataset.id, []).extend(pieces)
        found.unread.setdefault(dataset.id, []).extend(
            LostRows(first + loss.first, first + loss.last, f"{part.path.name}: {loss.why}")
            for loss in one.lost
        )
    missing = [name for name in told.declared if name in told.lost]
    found.lost += [LostObject(f"{where}{name}", told.lost[name]) for name in missing]
    return whole and not missing


def _declared(told: dict[str, Any] | None) -> Dataset | None:
    try:
        return None if told is None else Dataset.from_json(told)
    except RowsError:
        return None


def _good(one: RescuedDataset) -> list[tuple[int, int]]:
    """The rows that are not lost."""
    good, at = [], 0
    for loss in sorted(one.lost, key=lambda loss: loss.first):
        good.append((at, loss.first))
        at = loss.last + 1
    good.append((at, one.rows))
    return [(start, stop) for start, stop in good if stop > start]


def _in_order(pieces: Iterable[Piece]) -> list[Piece]:
    """By row number; what is there twice, once (a segment and its log may both be read)."""
    found: list[Piece] = []
    at = 0
    for piece in sorted(pieces, key=lambda one: (one.first_row, -one.rows)):
        if piece.first_row >= at:
            found.append(piece)
            at = piece.first_row + piece.rows
    return found


def _written(private: Path, told: list[tuple[str, Dataset, list[Piece]]], reader: Reader) -> str:
    """Writes the new file in a child; says why not, if it cannot be."""
    plan = [
        {
            "name": name,
            "dataset": dataset.to_json(),
            "pieces": [
                [str(one.path), one.first_row, one.rows, one.offset, one.nbytes] for one in pieces
            ],
        }
        for name, dataset, pieces in told
    ]
    said = list(reader.ask({"job": "rows", "to": str(private), "plan": plan}))
    if said[-1].get("ended") == 0:
        return ""
    private.unlink(missing_ok=True)
    why = next((one["failed"] for one in said if "failed" in one), foreign.CRASHED)
    return f"the new file could not be written: {why}"


def _reported(one: _Source, number: int, *, is_written: bool) -> RescuedDataset:
    dataset = one.datasets[number]
    pieces = _in_order(one.pieces.get(number, [])) if is_written else []
    why = "; ".join(f"{damage}" for damage in one.damages if not damage.is_cut)[:500]
    lost: list[LostRows] = []
    # The first log of a source begins with row 0; what went before a central one is elsewhere.
    at = 0
    for piece in pieces:
        if piece.first_row > at:
            lost.append(_gap(at, piece.first_row - 1, one.unread.get(number, []), why))
        at = piece.first_row + piece.rows
    rows = max([at, one.stops.get(number, 0)])
    if rows > at:
        lost.append(_gap(at, rows - 1, one.unread.get(number, []), why))
    recovered = sum(piece.rows for piece in pieces)
    return RescuedDataset(
        name=f"{one.source.folder.name}/{dataset.name}",
        state=WHOLE if not lost else PART if recovered else LOST,
        rows=rows,
        rows_recovered=recovered,
        lost=tuple(lost),
        checked_by="the checksum of each frame",
        description_checked=True,
        dtype=str(dataset.dtype),
        shape=(recovered, *dataset.row_shape),
    )


def _gap(first: int, last: int, unread: list[LostRows], otherwise: str) -> LostRows:
    for loss in unread:
        if loss.first <= first <= loss.last:
            return LostRows(first, last, loss.why)
    return LostRows(first, last, otherwise or "no file holds them")

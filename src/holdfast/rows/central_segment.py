"""One central segment: rows of many sources in the order of their arrival, each with its origin."""

import os
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np

from holdfast.rows import crc as checksums
from holdfast.rows import storage
from holdfast.rows.central_state import STATE
from holdfast.rows.central_tail import LogFile, Piece
from holdfast.rows.layout import CENTRAL, FORMAT
from holdfast.rows.schema import Dataset
from holdfast.rows.segment import BLOCK, BLOCKS, DATASETS, GROUP, write_json

ARRIVAL: Final = "arrival"
ORIGIN: Final = np.dtype(
    [("source", "<u4"), ("first_row", "<u8"), ("rows", "<u4"), ("time_ns", "<u8")]
)
_SMALL_BYTES: Final = 1 << 15  # pieces below are gathered; those above are copied one by one
_BUFFER_BYTES: Final = 1 << 18  # stays in the processor's cache between reading and writing
_GATHER_BYTES: Final = 1 << 20


class Differs(Exception):  # noqa: N818 - reads as what it says
    """A frame's checksum is not that of its bytes: from here on the log does not count."""

    def __init__(self, piece: Piece) -> None:
        super().__init__(f"{piece.log.path} at byte {piece.offset}: a checksum differs")
        self.piece = piece


@dataclass
class Plan:
    """What the next segment will contain. Payloads stay in their logs until it is written."""

    number: int
    since_s: float
    datasets: dict[str, Dataset] = field(default_factory=dict)  # as central numbers them
    first_rows: dict[str, int] = field(default_factory=dict)
    pieces: dict[str, list[Piece]] = field(default_factory=dict)
    origins: dict[str, list[tuple[int, int, int, int]]] = field(default_factory=dict)
    blocks: list[tuple[int, int, int, int]] = field(default_factory=list)
    nbytes: int = 0
    is_changed: bool = False


def write_central(path: Path, plan: Plan, state: dict[str, Any]) -> None:
    """Writes all of the plan into a new file; Differs if a log is not as it was written."""
    with storage.create(path) as file:
        told: list[dict[str, Any]] = []
        for name, dataset in plan.datasets.items():
            pieces = plan.pieces.get(name, [])
            rows = sum(piece.rows for piece in pieces)
            write = _write_packed if storage.is_packed(dataset) else _write_plain
            told.append(
                dataset.to_json()
                | {"first_row": plan.first_rows[name], "rows": rows}
                | write(file, dataset, pieces, rows)
            )
        group = file.create_group(GROUP)
        group.attrs["format"] = FORMAT
        group.attrs["task"] = CENTRAL
        group.attrs["incarnation"] = 0
        group.attrs["number"] = plan.number
        table = np.array(plan.blocks, dtype=BLOCK)
        group.create_dataset(BLOCKS, data=table, track_times=False)
        write_json(group, DATASETS, told)
        write_json(group, STATE, state)
        arrival = group.create_group(ARRIVAL)
        for name, origins in plan.origins.items():
            table = np.array(origins, dtype=ORIGIN)
            arrival.create_dataset(name, data=table, track_times=False)


def _write_plain(file: Any, dataset: Dataset, pieces: list[Piece], rows: int) -> dict[str, Any]:
    offset = storage.create_plain(file, dataset, rows)
    if not rows:
        return {"crc32": 0}
    return {"crc32": copy_plain(file.id.get_vfd_handle(), offset, pieces)}


def _write_packed(file: Any, dataset: Dataset, pieces: list[Piece], rows: int) -> dict[str, Any]:
    target = storage.create_packed(file, dataset, rows)
    crc_of = storage.text_crc if dataset.is_text else storage.crc_of_rows
    crc = 0
    for piece in pieces:
        payload = os.pread(piece.log.fd, piece.nbytes, piece.offset)
        if len(payload) < piece.nbytes or zlib.crc32(payload, piece.head_crc) != piece.crc:
            raise Differs(piece)
        values = dataset.unpack(payload, piece.rows)
        crc = crc_of(values, crc)
        target.append(values)
    target.finish()
    return {"crc32": crc}


def copy_plain(fd: int, offset: int, pieces: list[Piece]) -> int:
    """Puts the pieces' bytes behind each other; returns the checksum of them all.

    Each byte is read once, compared and written while it is still in the cache. What a fresh log
    holds in large pieces is not compared: its checksums go into the segment's as they are.
    """
    buffer = memoryview(bytearray(_GATHER_BYTES))
    crc = filled = 0
    for start, end in _runs(pieces):
        first = pieces[start]
        if first.nbytes >= _SMALL_BYTES:
            crc = _flush(fd, offset, buffer[:filled], crc)
            offset += filled
            filled = 0
            _copy_large(fd, offset, first, buffer[:_BUFFER_BYTES])
            own = first.crc ^ checksums.shifted(first.head_crc, first.nbytes)
            crc = checksums.joined(crc, own, first.nbytes)
            offset += first.nbytes
            continue
        span = pieces[end - 1].offset + pieces[end - 1].nbytes - first.offset
        window = memoryview(os.pread(first.log.fd, span, first.offset))
        for piece in pieces[start:end]:
            at = piece.offset - first.offset
            payload = window[at : at + piece.nbytes]
            if zlib.crc32(payload, piece.head_crc) != piece.crc:
                raise Differs(piece)
            if filled + piece.nbytes > _GATHER_BYTES:
                crc = _flush(fd, offset, buffer[:filled], crc)
                offset += filled
                filled = 0
            buffer[filled : filled + piece.nbytes] = payload
            filled += piece.nbytes
    return _flush(fd, offset, buffer[:filled], crc)


def _runs(pieces: list[Piece]) -> Iterator[tuple[int, int]]:
    """Small pieces that lie near each other in one log are read together."""
    start = 0
    while start < len(pieces):
        first = pieces[start]
        end = start + 1
        if first.nbytes < _SMALL_BYTES:
            while end < len(pieces) and _is_near(pieces[end], first.log, first.offset):
                end += 1
        yield start, end
        start = end


def _is_near(piece: Piece, log: LogFile, offset: int) -> bool:
    return (
        piece.log is log
        and piece.nbytes < _SMALL_BYTES
        and 0 <= piece.offset - offset <= _GATHER_BYTES - _SMALL_BYTES
    )


def _copy_large(fd: int, offset: int, piece: Piece, buffer: memoryview) -> None:
    is_compared = not piece.log.is_fresh
    crc = piece.head_crc if is_compared else piece.crc
    at, end = piece.offset, piece.offset + piece.nbytes
    while at < end:
        got = os.preadv(piece.log.fd, [buffer[: min(len(buffer), end - at)]], at)
        if not got:
            raise Differs(piece)
        if is_compared:
            crc = zlib.crc32(buffer[:got], crc)
        storage.write_all(fd, buffer[:got], offset)
        at += got
        offset += got
    if crc != piece.crc:
        raise Differs(piece)


def _flush(fd: int, offset: int, content: memoryview, crc: int) -> int:
    if content:
        storage.write_all(fd, content, offset)
    return zlib.crc32(content, crc)

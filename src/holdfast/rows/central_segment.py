"""One central segment: rows of many sources in the order of their arrival, each with its origin."""

import json
import mmap
import os
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np

from holdfast.rows import storage
from holdfast.rows.central_state import STATE
from holdfast.rows.central_tail import LogFile, Piece
from holdfast.rows.direct import BLOCK_BYTES, DirectFile
from holdfast.rows.errors import RowsError, Unwritable
from holdfast.rows.frames import HEADER_BYTES, SUMMED_FROM
from holdfast.rows.layout import CENTRAL, FORMAT
from holdfast.rows.merge_plan import Unit
from holdfast.rows.merge_rows import unpacked
from holdfast.rows.schema import Dataset
from holdfast.rows.segment import (
    BLOCK,
    BLOCKS,
    DATASETS,
    GROUP,
    read_json,
    read_open_segment,
    write_json,
)
from holdfast.rows.sums import Sum, sum_of

ARRIVAL: Final = "arrival"
ORIGIN: Final = np.dtype(
    [("source", "<u4"), ("first_row", "<u8"), ("rows", "<u4"), ("time_ns", "<u8")]
)
_SMALL_BYTES: Final = 1 << 15  # pieces below are read together if they lie near each other
_READ_BYTES: Final = 1 << 20
_WRITE_BYTES: Final = 4 << 20  # of each buffer
_BUFFERS: Final = 4
_DO: Final = "make room, or mend the disk: the rows are safe in their logs"
_HEAD_BYTES: Final = HEADER_BYTES - SUMMED_FROM  # of a frame's header, what its sum covers


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


class Buffers:
    """Some, for write_central, again and again: one is filled while others are written."""

    def __init__(self) -> None:
        # They begin on a page: processors copy such ones faster, and disks want it so.
        self.fills, *self._free = (memoryview(mmap.mmap(-1, _WRITE_BYTES)) for _ in range(_BUFFERS))
        self._writing = ThreadPoolExecutor(1, thread_name_prefix="holdfast-rows-write")
        self._busy: deque[tuple[Future[None], memoryview]] = deque()

    def write(self, nbytes: int, target: DirectFile, offset: int) -> None:
        """What was filled, in the background. The next to be filled is another one."""
        written = self._writing.submit(target.write, self.fills[:nbytes], offset)
        target.writes.append(written)
        self._busy.append((written, self.fills))
        if not self._free:
            written, buffer = self._busy.popleft()
            written.exception()  # whoever finishes the file hears of it
            self._free.append(buffer)
        self.fills = self._free.pop()

    def close(self) -> None:
        self._writing.shutdown()


def write_central(path: Path, plan: Plan, state: dict[str, Any], buffers: Buffers) -> DirectFile:
    """Writes all of the plan into a new file; Differs if a log is not as it was written.

    The file is whole when what is returned is finished.
    """
    with ExitStack() as undoing:
        with storage.create(path) as file:
            begun = DirectFile(path)
            undoing.callback(_give_up, begun)
            _write(file, plan, state, buffers, begun)
        _check(path, plan, state)
        undoing.pop_all()
    return begun


def _give_up(begun: DirectFile) -> None:
    with suppress(OSError):
        begun.finish()


def _write(
    file: Any, plan: Plan, state: dict[str, Any], buffers: Buffers, begun: DirectFile
) -> None:
    told: list[dict[str, Any]] = []
    for name, dataset in plan.datasets.items():
        pieces = plan.pieces.get(name, [])
        rows = sum(piece.rows for piece in pieces)
        if storage.is_packed(dataset):
            xxh3 = _write_packed(file, dataset, pieces, rows)
        else:
            offset = storage.create_plain(file, dataset, rows)
            xxh3 = _copy_plain(_Copying(begun, offset, buffers), pieces)
        told.append(
            dataset.to_json() | {"first_row": plan.first_rows[name], "rows": rows, "xxh3": xxh3}
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


def _check(path: Path, plan: Plan, state: dict[str, Any]) -> None:
    """Reads again what HDF5 wrote: of a disk that is full for a moment, it forgets some errors.

    Plain rows are not compared: we write them ourselves, and hear of every error.
    """
    rows = {name: sum(one.rows for one in plan.pieces.get(name, ())) for name in plan.datasets}
    try:
        with storage.open_finished(path) as file:
            segment, group = read_open_segment(path, file), file[GROUP]
            came = {name: group[ARRIVAL][name][()].tolist() for name in plan.origins}
            is_whole = (
                {stored.dataset.name: stored.rows for stored in segment.datasets} == rows
                and group[BLOCKS][()].tolist() == plan.blocks
                and came == plan.origins
                and read_json(group, STATE) == json.loads(json.dumps(state))
            )
        for stored in segment.datasets:
            if storage.is_packed(stored.dataset):
                deque(unpacked(Unit(segment, stored)), maxlen=0)
    except (KeyError, ValueError, TypeError, AttributeError, OSError, RowsError) as error:
        raise Unwritable(f"{path} was not written whole: {error}", do=_DO) from error
    if not is_whole:
        raise Unwritable(f"{path} was not written whole", do=_DO)


def _write_packed(file: Any, dataset: Dataset, pieces: list[Piece], rows: int) -> int:
    target = storage.create_packed(file, dataset, rows)
    add, xxh3 = storage.adds(dataset), Sum()
    for piece in pieces:
        span = _HEAD_BYTES + piece.nbytes
        summed = memoryview(os.pread(piece.log.fd, span, piece.offset - _HEAD_BYTES))
        if sum_of(summed) != piece.xxh3:
            raise Differs(piece)
        values = dataset.unpack(summed[_HEAD_BYTES:], piece.rows)
        add(xxh3, values)
        target.append(values)
    target.finish()
    return xxh3.intdigest()


def _copy_plain(copying: "_Copying", pieces: list[Piece]) -> int:
    """Puts the pieces' bytes behind each other; returns the checksum of them all."""
    for start, end in _runs(pieces):
        if pieces[start].nbytes >= _SMALL_BYTES:
            copying.take(pieces[start])
        else:
            copying.take_near(pieces[start:end])
    return copying.finish()


class _Copying:
    """Rows on their way into a file: each piece is compared with its checksum, then written."""

    def __init__(self, target: DirectFile, offset: int, buffers: Buffers) -> None:
        self._target = target
        self._offset = offset
        self._buffers = buffers
        self._filled = 0
        self._xxh3 = Sum()

    def take(self, piece: Piece) -> None:
        """One piece, of any size."""
        log, at, end = piece.log.fd, piece.offset, piece.offset + piece.nbytes
        found = Sum(os.pread(log, _HEAD_BYTES, at - _HEAD_BYTES))
        while at < end:
            room = self._buffer[self._filled : self._filled + end - at]
            got = os.preadv(log, [room], at)
            if not got:
                raise Differs(piece)
            found.update(room[:got])
            self._filled += got
            at += got
            if self._filled == len(self._buffer):
                self._flush()
        if found.intdigest() != piece.xxh3:
            raise Differs(piece)

    def take_near(self, pieces: list[Piece]) -> None:
        """Small pieces of one log, in the order of their places there: read at once."""
        start = pieces[0].offset - _HEAD_BYTES
        end = pieces[-1].offset + pieces[-1].nbytes
        window = memoryview(os.pread(pieces[0].log.fd, end - start, start))
        for piece in pieces:
            at = piece.offset - start
            if sum_of(window[at - _HEAD_BYTES : at + piece.nbytes]) != piece.xxh3:
                raise Differs(piece)
            self._make_room(piece.nbytes)
            behind = self._filled + piece.nbytes
            self._buffer[self._filled : behind] = window[at : at + piece.nbytes]
            self._filled = behind

    def finish(self) -> int:
        self._write(self._filled)
        return self._xxh3.intdigest()

    def _make_room(self, nbytes: int) -> None:
        if nbytes > len(self._buffer) - self._filled:
            self._flush()

    def _flush(self) -> None:
        """Whole blocks; what is left goes before what comes next."""
        left = self._filled % BLOCK_BYTES
        rest = bytes(self._buffer[self._filled - left : self._filled])
        self._write(self._filled - left)
        self._buffer[:left] = rest
        self._filled = left

    @property
    def _buffer(self) -> memoryview:
        return self._buffers.fills

    def _write(self, nbytes: int) -> None:
        self._xxh3.update(self._buffer[:nbytes])
        self._buffers.write(nbytes, self._target, self._offset)
        self._offset += nbytes


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
        and 0 <= piece.offset - offset <= _READ_BYTES - _SMALL_BYTES
    )

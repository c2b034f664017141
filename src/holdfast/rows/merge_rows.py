"""Rows of a merged dataset by their numbers, from wherever they lie."""

import contextlib
import mmap
import os
from collections import OrderedDict
from pathlib import Path
from typing import Any, Final, Protocol

import numpy as np
import numpy.typing as npt

from holdfast.rows import storage
from holdfast.rows.errors import Damaged
from holdfast.rows.merge_plan import Target, Unit
from holdfast.rows.storage import Rows
from holdfast.rows.sums import Sum

MAPS_MAX: Final = 256  # files that are looked into at a time
Numbers = npt.NDArray[np.int64]


class Takes(Protocol):
    """Gives rows in any order."""

    def take(self, numbers: Numbers) -> Rows: ...


class UnitRows:
    """Plain rows, straight from the segments."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._maps: OrderedDict[int, Rows] = OrderedDict()

    def take(self, numbers: Numbers) -> Rows:
        dataset = self._target.dataset
        found = np.empty((len(numbers), *dataset.row_shape), dtype=dataset.numpy)
        units = np.searchsorted(self._target.starts, numbers, side="right") - 1
        by_unit = np.argsort(units, kind="stable")
        edges = np.flatnonzero(np.diff(units[by_unit])) + 1
        for places in np.split(by_unit, edges):
            if len(places):
                unit = int(units[places[0]])
                rows = numbers[places] - self._target.starts[unit]
                found[places] = self._mapped(unit)[rows]
        return found

    def _mapped(self, number: int) -> Rows:
        if number in self._maps:
            self._maps.move_to_end(number)
            return self._maps[number]
        while len(self._maps) >= MAPS_MAX:
            self._maps.popitem(last=False)
        self._maps[number] = mapped(self._target.units[number])
        return self._maps[number]


def mapped(unit: Unit) -> Rows:
    """The plain rows of a unit, as they lie in its file: a segment never changes."""
    stored = unit.stored
    with unit.segment.path.open("rb") as file:
        if os.fstat(file.fileno()).st_size < stored.offset + stored.nbytes:
            raise Damaged(f"{unit.segment.path} is cut", do=storage.RESCUE)
        view = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    shape = (stored.rows, *stored.dataset.row_shape)
    return np.ndarray(shape, dtype=stored.dataset.numpy, buffer=view, offset=stored.offset)


class UnpackedRows:
    """Compressed rows, unpacked once into a file of our own: each is then as near as any."""

    def __init__(self, target: Target, folder: Path) -> None:
        dataset = target.dataset
        path = folder / f"unpacked-{dataset.id}"
        with path.open("wb") as file:
            for unit in target.units:
                for rows in unpacked(unit):
                    file.write(storage.bytes_of(np.ascontiguousarray(rows)))
        shape = (target.rows, *dataset.row_shape)
        dtype: Any = dataset.numpy
        self._rows: Rows = np.memmap(path, dtype=dtype, mode="r", shape=shape)

    def take(self, numbers: Numbers) -> Rows:
        return np.asarray(self._rows[numbers])


class UnpackedText:
    """Text, written once into a file of our own."""

    def __init__(self, target: Target, folder: Path) -> None:
        self._shape = target.dataset.row_shape
        self._items = target.dataset.items_per_row
        path = folder / f"unpacked-{target.dataset.id}"
        ends_path = folder / f"unpacked-{target.dataset.id}.ends"
        end = 0
        with path.open("wb") as file, ends_path.open("wb") as ends:
            for unit in target.units:
                for rows in unpacked(unit):
                    items = [item.encode() for item in rows.reshape(-1)]
                    lengths = np.array([len(item) for item in items], dtype=np.int64)
                    ends.write((np.cumsum(lengths) + end).tobytes())
                    end += int(lengths.sum())
                    file.write(b"".join(items))
        self._ends = np.memmap(ends_path, dtype=np.int64, mode="r")
        self._text = np.memmap(path, dtype=np.uint8, mode="r") if end else np.empty(0, np.uint8)

    def take(self, numbers: Numbers) -> Rows:
        found = np.empty((len(numbers), self._items), dtype=object)
        for place, number in enumerate(numbers.tolist()):
            for item in range(self._items):
                at = number * self._items + item
                start = int(self._ends[at - 1]) if at else 0
                found[place, item] = bytes(self._text[start : int(self._ends[at])]).decode()
        return found.reshape((len(numbers), *self._shape))


def unpacked(unit: Unit) -> Any:
    """The rows of a packed unit, some at a time; Damaged if they are not what was sealed."""
    stored, path = unit.stored, unit.segment.path
    add, xxh3 = storage.adds(stored.dataset), Sum()
    at_once = rows_at_once(unit)
    with storage.open_finished(path) as file, reading(path, stored.dataset.name):
        made = file[stored.dataset.name]
        if stored.dataset.is_text:
            made = made.asstr()
        for first in range(0, stored.rows, at_once):
            rows = np.asarray(made[first : first + at_once])
            add(xxh3, rows)
            yield rows
    if xxh3.intdigest() != stored.xxh3:
        raise differs(unit)


def rows_at_once(unit: Unit) -> int:
    dataset = unit.stored.dataset
    if dataset.is_text:
        return storage.TEXT_ROWS
    chunk = storage.chunk_rows_of(dataset)
    return chunk * max(1, storage.WRITE_BYTES // (chunk * dataset.row_bytes))


@contextlib.contextmanager
def reading(path: Path, name: str) -> Any:
    """What HDF5 cannot read, in words of ours."""
    try:
        yield
    except (OSError, UnicodeDecodeError) as error:
        raise Damaged(f"{path}: {name} cannot be read: {error}", do=storage.RESCUE) from error


def differs(unit: Unit) -> Damaged:
    return Damaged(
        f"{unit.segment.path}: the checksum of {unit.stored.dataset.name} differs from the one "
        f"that was made when it was sealed",
        do="restore this file from a copy, or leave it out with --skip-damaged",
    )

"""Values of any type of HDF5, as they lie in a file: read, written and summed up in blocks."""

from collections.abc import Iterator, Sequence
from math import prod
from typing import Any, Final

import numpy as np

from holdfast.rows import storage
from holdfast.rows.plain_files import value_types
from holdfast.rows.storage import Rows
from holdfast.rows.sums import Sum

BLOCK_BYTES: Final = 8 << 20
CACHE_BYTES: Final = 64 << 20  # of unpacked chunks, for a dataset that is read or written
_CACHE_SLOTS: Final = 12_421  # a prime, as HDF5 asks for
_ITEMS_MAX: Final = 8192  # of variable length, at once
Selection = tuple[tuple[int, ...], tuple[int, ...]]  # where it starts, how much of each axis


def opened(file: Any, name: str) -> Any:
    """A dataset, with room for its chunks in memory."""
    h5py = storage.hdf5()
    return h5py.Dataset(h5py.h5d.open(file.id, name.encode(), access()))


def access() -> Any:
    h5p = storage.hdf5().h5p
    how = h5p.create(h5p.DATASET_ACCESS)
    how.set_chunk_cache(_CACHE_SLOTS, CACHE_BYTES, 1.0)
    return how


def blocks(dataset: Any, first: int, rows: int) -> Iterator[tuple[Selection, Rows]]:
    """Rows of a dataset one after the other, as much as memory should hold at a time.

    Values of fixed size are their bytes in the file; the others are objects of Python.
    """
    if not dataset.shape:
        yield ((), ()), _read(dataset, None)
        return
    variable = value_types.is_variable(dataset.id.get_type())
    # Nobody knows how long the first value of variable length is: it comes alone.
    item_bytes = BLOCK_BYTES if variable else dataset.id.get_type().get_size()
    row_items = max(1, prod(dataset.shape[1:]))
    at = first
    while at < first + rows:
        some = max(1, min(_ITEMS_MAX, BLOCK_BYTES // item_bytes) // row_items) if variable else rows
        behind = min(first + rows, at + some)
        for selection in _selections((), dataset.shape, dataset.chunks, (at, behind), item_bytes):
            found = _read(dataset, selection)
            if variable and found.size:
                item_bytes = max(64, 2 * sum(map(_nbytes, found.reshape(-1))) // found.size)
            yield selection, found
        at = behind


def write(dataset: Any, selection: Selection, values: Rows, *, first: int) -> None:
    """Puts a block where it lay in its own file, with its first row at another place."""
    h5s = storage.hdf5().h5s
    kind = dataset.id.get_type()
    memory = None if value_types.is_variable(kind) else kind.copy()
    if not dataset.shape:
        dataset.id.write(h5s.ALL, h5s.ALL, values.reshape(()), mtype=memory)
        return
    (start, count) = selection if selection[0] else ((0,), (1,))
    space = dataset.id.get_space()
    space.select_hyperslab((start[0] + first, *start[1:]), count)
    dataset.id.write(h5s.create_simple(count), space, values.reshape(count), mtype=memory)


def sum_of_rows(dataset: Any, first: int, rows: int) -> int:
    xxh3 = Sum()
    for _, found in blocks(dataset, first, rows):
        add(xxh3, found)
    return xxh3.intdigest()


def add(xxh3: Sum, values: Rows) -> None:
    """The checksum goes on, and is the same however the rows are cut into blocks."""
    if not values.dtype.hasobject:
        storage.add_rows(xxh3, values)
        return
    for value in values.reshape(-1):
        _add_value(xxh3, value)


def _add_value(xxh3: Sum, value: Any) -> None:
    if isinstance(value, str):
        value = value.encode(errors="surrogateescape")
    if isinstance(value, bytes):
        xxh3.update(len(value).to_bytes(8, "little") + value)
    elif isinstance(value, np.void) and value.dtype.names:
        for name in value.dtype.names:
            _add_value(xxh3, value[name])
    elif isinstance(value, np.ndarray):
        xxh3.update(value.size.to_bytes(8, "little"))
        if value.dtype.hasobject:
            for one in value.reshape(-1):
                _add_value(xxh3, one)
        else:
            storage.add_rows(xxh3, value)
    else:
        xxh3.update(np.asarray(value).tobytes())


def _nbytes(value: Any) -> int:
    if isinstance(value, np.void) and value.dtype.names:
        return sum(_nbytes(value[name]) for name in value.dtype.names)
    if isinstance(value, np.ndarray):
        own = int(value.nbytes)
        return own + sum(map(_nbytes, value.reshape(-1))) if value.dtype.hasobject else own
    return len(value) if isinstance(value, bytes | str) else 8


def _read(dataset: Any, selection: Selection | None) -> Rows:
    h5s = storage.hdf5().h5s
    kind = dataset.id.get_type()
    count = selection[1] if selection else ()
    if value_types.is_variable(kind) or value_types.references_in(kind):
        found: Rows = np.empty(count, dtype=dataset.dtype)
        memory = None
    else:
        found, memory = np.empty(count, dtype=f"V{kind.get_size()}"), kind.copy()
    if not found.size:
        return found
    if selection is None:
        dataset.id.read(h5s.ALL, h5s.ALL, found, mtype=memory)
        return found
    space = dataset.id.get_space()
    space.select_hyperslab(*selection)
    dataset.id.read(h5s.create_simple(count), space, found, mtype=memory)
    return found


def _selections(
    before: tuple[int, ...], shape: Sequence[int], chunks: Sequence[int] | None,
    rows: tuple[int, int], item_bytes: int,
) -> Iterator[Selection]:  # fmt: skip
    """In the order in which rows lie in memory; whole chunks at a time, where they fit."""
    first, behind = rows
    row_bytes = max(1, item_bytes * prod(shape[1:]))
    if row_bytes > BLOCK_BYTES and len(shape) > 1:
        inner = chunks[1:] if chunks else None
        for row in range(first, behind):
            yield from _selections((*before, row), shape[1:], inner, (0, shape[1]), item_bytes)
        return
    at_once = max(1, BLOCK_BYTES // row_bytes)
    while first < behind:
        end = min(behind, first + at_once)
        if chunks and end < behind and end - end % chunks[0] > first:
            end -= end % chunks[0]
        start = (*before, first, *(0 for _ in shape[1:]))
        yield start, (*(1 for _ in before), end - first, *shape[1:])
        first = end

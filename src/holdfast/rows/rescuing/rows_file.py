"""Writes the rows that were found in a log directory into one new HDF5 file: a child's job."""

import os
from typing import Any

import numpy as np

from holdfast.rows import storage
from holdfast.rows.rescuing.walk import Tell
from holdfast.rows.schema import Dataset

NUMBERS = "_holdfast_rows"
BLOCK_ROWS_BYTES = 16 << 20
_NUMBER = np.dtype([("first_row", "<u8"), ("rows", "<u8")])


def write_rows(target: Any, plan: list[dict[str, Any]], tell: Tell) -> None:
    for told in plan:
        dataset = Dataset.from_json(told["dataset"])
        name, pieces = told["name"], told["pieces"]
        if not pieces:
            continue
        tell({"begin": [name, "rows"]})
        _write(target, name, dataset, pieces, tell)


def _write(target: Any, name: str, dataset: Dataset, pieces: list[Any], tell: Tell) -> None:
    rows = sum(piece[2] for piece in pieces)
    kind = storage.hdf5().string_dtype() if dataset.is_text else dataset.numpy
    made = target.create_dataset(name, shape=(rows, *dataset.row_shape), dtype=kind)
    storage.set_attrs(made, dataset)
    numbers: list[tuple[int, int]] = []
    at = 0
    for path, first_row, count, offset, nbytes in pieces:
        tell({"begin": [name, path]})
        if nbytes:
            made[at : at + count] = _of_log(dataset, path, count, offset, nbytes)
        else:
            _of_segment(made, dataset, path, at=at, start=offset, rows=count)
        at += count
        if numbers and sum(numbers[-1]) == first_row:
            numbers[-1] = (numbers[-1][0], numbers[-1][1] + count)
        else:
            numbers.append((first_row, count))
    target.create_dataset(f"{NUMBERS}/{name}", data=np.array(numbers, dtype=_NUMBER))


def _of_log(dataset: Dataset, path: str, rows: int, offset: int, nbytes: int) -> Any:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        payload = os.pread(fd, nbytes, offset)
    finally:
        os.close(fd)
    return dataset.unpack(payload, rows)


def _of_segment(made: Any, dataset: Dataset, path: str, *, at: int, start: int, rows: int) -> None:
    from holdfast.rows.rescuing.library import open_unclean  # noqa: PLC0415

    step = max(1, BLOCK_ROWS_BYTES // max(1, dataset.row_bytes))
    with open_unclean(path) as file:
        found = file[dataset.name]
        for first in range(0, rows, step):
            last = min(rows, first + step)
            made[at + first : at + last] = found[start + first : start + last]

"""Rows as Arrow: the schema of a table, and its pieces as record batches."""

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from holdfast.rows.errors import Missing, Refused
from holdfast.rows.schema import Dataset
from holdfast.rows.tables import Piece, Table, pieces

ORIGIN = ("task", "incarnation", "row", "time_ns")


def pyarrow() -> Any:
    """The package, or a sentence that says how to get it."""
    try:
        import pyarrow as pa  # noqa: PLC0415 - only who asks for Arrow needs it
    except ImportError as error:
        raise Missing("arrow", package="pyarrow") from error
    return pa


def schema_of(table: Table) -> Any:
    """Where each row comes from (task, incarnation, row, time_ns), then one column a dataset."""
    pa = pyarrow()
    fields = [
        pa.field("task", pa.string()),
        pa.field("incarnation", pa.uint32()),
        pa.field("row", pa.uint64()),
        pa.field("time_ns", pa.uint64()),
    ]
    for dataset in table.datasets:
        attrs = {key: json.dumps(value) for key, value in dataset.attrs.items()}
        fields.append(pa.field(column_name(dataset), _type_of(dataset), metadata=attrs or None))
    return pa.schema(fields)


def batches(table: Table) -> Iterator[Any]:
    """All rows of a table as record batches, in bounded memory."""
    schema = schema_of(table)
    for piece in pieces(table):
        yield _batch(table, piece, schema)


def column_name(dataset: Dataset) -> str:
    """The last part of its name; not one of those that say where a row comes from."""
    last = dataset.name.rpartition("/")[2]
    return f"{last}_" if last in ORIGIN else last


def _batch(table: Table, piece: Piece, schema: Any) -> Any:
    pa = pyarrow()
    count = len(piece.times_ns)
    origin = [
        pa.array([piece.source.task] * count, pa.string()),
        pa.array(np.full(count, piece.source.incarnation, np.uint32)),
        pa.array(np.arange(piece.first_row, piece.first_row + count, dtype=np.uint64)),
        pa.array(np.ascontiguousarray(piece.times_ns)),
    ]
    columns = [
        _column(values, dataset)
        for dataset, values in zip(table.datasets, piece.columns, strict=True)
    ]
    return pa.RecordBatch.from_arrays([*origin, *columns], schema=schema)


def _column(values: npt.NDArray[Any], dataset: Dataset) -> Any:
    pa = pyarrow()
    if dataset.is_text:
        flat = pa.array(values.reshape(-1).tolist(), pa.string())
        return _shaped(flat, dataset.row_shape)
    return _array(values.reshape(-1, *dataset.row_shape), dataset.row_shape)


def _array(values: npt.NDArray[Any], shape: tuple[int, ...]) -> Any:
    """Values of any dtype that rows may have, with `shape` behind the first dimension."""
    pa = pyarrow()
    flat = np.ascontiguousarray(values).reshape(-1)
    if flat.dtype.names:
        fields = [_array(flat[name], flat[name].shape[1:]) for name in flat.dtype.names]
        made = pa.StructArray.from_arrays(fields, names=list(flat.dtype.names))
    elif flat.dtype.kind == "c":
        parts = [
            pa.array(np.ascontiguousarray(flat.real)),
            pa.array(np.ascontiguousarray(flat.imag)),
        ]
        made = pa.StructArray.from_arrays(parts, names=["real", "imag"])
    elif flat.dtype.kind == "S":
        made = pa.array(flat.tolist(), pa.binary())
    else:
        made = pa.array(flat)
    return _shaped(made, shape)


def _shaped(flat: Any, shape: tuple[int, ...]) -> Any:
    pa = pyarrow()
    for size in reversed(shape):
        flat = pa.FixedSizeListArray.from_arrays(flat, size)
    return flat


def _type_of(dataset: Dataset) -> Any:
    pa = pyarrow()
    if dataset.numpy is None:
        return _column(np.empty((0, *dataset.row_shape), object), dataset).type
    try:
        return _column(np.empty((0, *dataset.row_shape), dataset.numpy), dataset).type
    except pa.ArrowException as error:
        raise Refused(
            f'dataset "{dataset.name}" of dtype {dataset.dtype} has no place in Arrow: {error}',
            do="read it with rows.arrays(), or with h5py from a merged file",
        ) from error

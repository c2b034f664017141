"""Rows for programs: as NumPy arrays, in pandas, in Polars, and as a tf.data.Dataset."""

import os
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from holdfast.rows import arrow
from holdfast.rows.errors import Missing, Refused
from holdfast.rows.fetching import here
from holdfast.rows.schema import Dataset
from holdfast.rows.tables import read_dataset, table_named

ROWS_MAX = 65_536


def arrays(
    logdir: str | os.PathLike[str],
    name: str,
    *,
    rows_max: int = ROWS_MAX,
    storage_options: Mapping[str, Any] | None = None,
) -> Iterator[npt.NDArray[Any]]:
    """The rows of one dataset, task after task, at most `rows_max` at a time."""
    if rows_max < 1:
        raise Refused(f"rows_max={rows_max} is no number of rows", do="use 1 or more")
    table = table_named(here(logdir, storage_options), name)
    for source, rows in table.rows:
        for _, values in read_dataset(source, _only(table.datasets, name), rows, rows_max):
            yield values


def pandas(
    logdir: str | os.PathLike[str],
    name: str,
    *,
    storage_options: Mapping[str, Any] | None = None,
) -> Any:
    """A DataFrame of a dataset or of a group of datasets, with where each row comes from."""
    try:
        import pandas as pd  # noqa: PLC0415 - only who asks for it needs it
    except ImportError as error:
        raise Missing("arrow", package="pandas") from error
    frame = _arrow_table(logdir, name, storage_options).to_pandas()
    assert isinstance(frame, pd.DataFrame)
    return frame


def polars(
    logdir: str | os.PathLike[str],
    name: str,
    *,
    storage_options: Mapping[str, Any] | None = None,
) -> Any:
    """A Polars DataFrame of a dataset or of a group of datasets."""
    try:
        import polars as pl  # noqa: PLC0415 - only who asks for it needs it
    except ImportError as error:
        raise Missing("arrow", package="polars") from error
    return pl.from_arrow(_arrow_table(logdir, name, storage_options))


def tf_dataset(
    logdir: str | os.PathLike[str],
    name: str,
    *,
    batch: int,
    storage_options: Mapping[str, Any] | None = None,
) -> Any:
    """A tf.data.Dataset of batches of rows: all of the same size but the last."""
    try:
        import tensorflow as tf  # noqa: PLC0415 - only who asks for it needs it
    except ImportError as error:
        raise Refused("TensorFlow is not installed", do="pip install tensorflow") from error
    place = here(logdir, storage_options)
    dataset = _only(table_named(place, name).datasets, name)
    if dataset.numpy is not None and dataset.numpy.names:
        raise Refused(
            f'dataset "{name}" has fields, and tensors have none',
            do="write a dataset for each field, or map rows.arrays() yourself",
        )
    kind = tf.string if dataset.numpy is None else tf.as_dtype(dataset.numpy)
    spec = tf.TensorSpec((None, *dataset.row_shape), kind)
    return tf.data.Dataset.from_generator(
        lambda: _batches(arrays(place, name), batch), output_signature=spec
    )


def _batches(some: Iterator[npt.NDArray[Any]], batch: int) -> Iterator[npt.NDArray[Any]]:
    waiting: list[npt.NDArray[Any]] = []
    count = 0
    for values in some:
        start = 0
        while start < len(values):
            taken = values[start : start + batch - count]
            waiting.append(taken)
            count += len(taken)
            start += len(taken)
            if count == batch:
                yield np.concatenate(waiting)
                waiting, count = [], 0
    if waiting:
        yield np.concatenate(waiting)


def _arrow_table(
    logdir: str | os.PathLike[str], name: str, storage_options: Mapping[str, Any] | None
) -> Any:
    pa = arrow.pyarrow()
    table = table_named(here(logdir, storage_options), name)
    return pa.Table.from_batches(arrow.batches(table), schema=arrow.schema_of(table))


def _only(datasets: tuple[Dataset, ...], name: str) -> Dataset:
    if len(datasets) != 1:
        inside = ", ".join(dataset.name for dataset in datasets)
        raise Refused(f'"{name:.80}" is a group of datasets', do=f"name one of them: {inside}")
    return datasets[0]

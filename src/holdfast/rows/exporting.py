"""Exports rows to Parquet or Arrow files: one for each table, each whole or not there."""

import contextlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from holdfast.rows import arrow
from holdfast.rows.errors import Missing, Refused, unwritable
from holdfast.rows.fetching import here
from holdfast.rows.publishing import private_path, publish_new
from holdfast.rows.tables import Table, tables

Format = Literal["parquet", "arrow"]


@dataclass(frozen=True)
class Exported:
    """One file that was made."""

    path: Path
    datasets: tuple[str, ...]
    rows: int


def export(
    logdir: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    format: Format = "parquet",  # noqa: A002 - as the command line says it
    storage_options: Mapping[str, Any] | None = None,
) -> list[Exported]:
    """Writes all rows of LOGDIR into the folder OUT, a file for each group of datasets.

    Datasets of a group with as many rows in every source are columns of one file; a dataset that
    does not fit has a file of its own. Nothing that is there is overwritten.
    """
    if format not in {"parquet", "arrow"}:
        raise Refused(f"format={format!r:.40} is unknown", do="use parquet or arrow")
    arrow.pyarrow()
    found = tables(here(logdir, storage_options))
    folder = Path(out)
    targets = [(table, folder / f"{table.name}.{format}") for table in found]
    for _, target in targets:
        if target.exists():
            raise Refused(f"{target} is there already", do="name another folder, or remove it")
    return [_exported(table, target, format) for table, target in targets]


def _exported(table: Table, target: Path, form: Format) -> Exported:
    rows = 0
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with private_path(target) as private:
            with _sink(private, arrow.schema_of(table), form) as sink:
                for batch in arrow.batches(table):
                    sink.write_batch(batch)
                    rows += batch.num_rows
            publish_new(private, target)
    except FileExistsError as error:
        raise Refused(f"{target} was made by somebody else meanwhile", do="look at it") from error
    except OSError as error:
        raise unwritable(target, error, do="make room, or name another folder") from error
    return Exported(target, tuple(dataset.name for dataset in table.datasets), rows)


@contextlib.contextmanager
def _sink(path: Path, schema: Any, form: Format) -> Iterator[Any]:
    pa = arrow.pyarrow()
    if form == "arrow":
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, schema) as sink:
            yield sink
        return
    try:
        import pyarrow.parquet as pq  # noqa: PLC0415 - as pyarrow itself
    except ImportError as error:
        raise Missing("arrow", package="pyarrow with Parquet") from error
    with pq.ParquetWriter(str(path), schema) as sink:
        yield sink

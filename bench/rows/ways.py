"""Ways to append batches of rows: ours, plain h5py, and the peers; each opens, appends, closes."""

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

COLUMNS = 100
CHUNK_ROWS = 1024
ROW_BYTES = 4 * COLUMNS

Batch = npt.NDArray[np.float32]
Append = Callable[[Batch], object]


@dataclass(frozen=True)
class Way:
    """One way to keep rows: what it is called, what it needs, and what an append of it means."""

    name: str
    keeps: str  # what is still there after kill -9, or after a power cut
    env: str | None = None  # an environment of its own under .envs; None: this one


LIMIT = Way("write()", "kill -9")
PROCESS = Way("holdfast process", "kill -9")
DISK = Way("holdfast disk", "power cut")
SEALED = Way("holdfast process, sealed at close", "kill -9")
PLAIN = Way("h5py append", "nothing")
FLUSHED = Way("h5py append + flush", "most kills")
SWMR = Way("h5py SWMR + flush", "kill -9, with h5clear")
ZARR = Way("Zarr 3", "kill -9", "zarr")
TENSORSTORE = Way("TensorStore zarr3", "power cut", "tensorstore")
ARROW = Way("Arrow IPC stream", "kill -9, unchecked")
SQLITE = Way("SQLite WAL", "kill -9")
OURS = (PROCESS, DISK, SEALED)
PEERS = (FLUSHED, SWMR, ZARR, TENSORSTORE, ARROW, SQLITE)


@contextmanager
def _raw(folder: Path, rows: int) -> Iterator[Append]:
    fd = os.open(folder / "rows.raw", os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_APPEND, 0o600)
    yield lambda batch: os.write(fd, batch.data)
    os.close(fd)


@contextmanager
def _ours(folder: Path, ack: Any, seal: Any) -> Iterator[Append]:
    from holdfast import rows  # noqa: PLC0415 - the environments of peers do not have it

    with rows.open(folder, task="worker:0", ack=ack, seal=seal) as writer:
        writer.dataset("x", dtype="<f4", shape=(COLUMNS,))
        yield lambda batch: writer.append("x", batch)


@contextmanager
def _h5py(folder: Path, after: str, libver: str | None) -> Iterator[Append]:
    import h5py  # noqa: PLC0415 - nor this

    file = h5py.File(folder / "rows.h5", "x", libver=libver)
    dataset = file.create_dataset(
        "x", (0, COLUMNS), "<f4", maxshape=(None, COLUMNS), chunks=(CHUNK_ROWS, COLUMNS)
    )
    if after == "swmr":
        file.swmr_mode = True
    then = {"": None, "flush": file.flush, "swmr": dataset.flush}[after]

    def append(batch: Batch) -> None:
        start = dataset.shape[0]
        dataset.resize(start + len(batch), axis=0)
        dataset[start:] = batch
        if then is not None:
            then()

    yield append
    file.close()


@contextmanager
def _zarr(folder: Path, rows: int) -> Iterator[Append]:
    import zarr  # noqa: PLC0415

    array = zarr.create_array(
        store=str(folder / "rows.zarr"),
        shape=(0, COLUMNS),
        chunks=(CHUNK_ROWS, COLUMNS),
        dtype="<f4",
        compressors=None,
    )
    yield array.append


@contextmanager
def _tensorstore(folder: Path, rows: int) -> Iterator[Append]:
    """Chunks are as long as a batch: anything else reads back what it wrote."""
    import tensorstore  # noqa: PLC0415

    wanted = {
        "driver": "zarr3",
        "kvstore": {"driver": "file", "path": f"{folder}/rows.zarr3/"},
        "metadata": {
            "shape": [2**40, COLUMNS],
            "data_type": "float32",
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [rows, COLUMNS]}},
            "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
        },
    }
    store = tensorstore.open(wanted, create=True).result()
    start = 0

    def append(batch: Batch) -> None:
        nonlocal start
        store[start : start + len(batch)].write(batch).result()
        start += len(batch)

    yield append


@contextmanager
def _arrow(folder: Path, rows: int) -> Iterator[Append]:
    import pyarrow as pa  # noqa: PLC0415

    row = pa.list_(pa.float32(), COLUMNS)
    schema = pa.schema([("x", row)])

    def append(batch: Batch) -> None:
        column = pa.FixedSizeListArray.from_arrays(pa.array(batch.reshape(-1)), type=row)
        stream.write_batch(pa.record_batch([column], schema=schema))

    with (
        pa.OSFile(str(folder / "rows.arrow"), "wb") as file,
        pa.ipc.new_stream(file, schema) as stream,
    ):
        yield append


@contextmanager
def _sqlite(folder: Path, rows: int) -> Iterator[Append]:
    database = sqlite3.connect(folder / "rows.sqlite", isolation_level=None)
    database.execute("pragma journal_mode=wal")
    database.execute("pragma synchronous=normal")
    database.execute("create table x (batch blob)")
    yield lambda batch: database.execute("insert into x values (?)", (batch.data.cast("B"),))
    database.close()


OPENERS: dict[str, Callable[[Path, int], Any]] = {
    LIMIT.name: _raw,
    PROCESS.name: lambda folder, rows: _ours(folder, "process", "never"),
    DISK.name: lambda folder, rows: _ours(folder, "disk", "never"),
    SEALED.name: lambda folder, rows: _ours(folder, "process", "close"),
    PLAIN.name: lambda folder, rows: _h5py(folder, "", None),
    FLUSHED.name: lambda folder, rows: _h5py(folder, "flush", None),
    SWMR.name: lambda folder, rows: _h5py(folder, "swmr", "v110"),
    ZARR.name: _zarr,
    TENSORSTORE.name: _tensorstore,
    ARROW.name: _arrow,
    SQLITE.name: _sqlite,
}

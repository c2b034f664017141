"""How a dataset lies in an HDF5 file of ours: plain bytes, packed chunks, or text."""

import contextlib
import errno
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from holdfast.rows.errors import Damaged, Missing
from holdfast.rows.schema import Dataset
from holdfast.rows.sums import Sum

WRITE_BYTES: Final = 8 << 20  # handed to the system, or to HDF5, at once
CHUNK_BYTES: Final = 1 << 20  # of a packed dataset, unless the user says how many rows
TEXT_ROWS: Final = 8192  # written at once
_ALIGNED_FROM_BYTES: Final = 1 << 16  # large datasets begin on a page
_PAGE_BYTES: Final = 4096

Rows = npt.NDArray[Any]


def hdf5() -> Any:
    """The package h5py, or a sentence that says how to get it."""
    try:
        import h5py  # noqa: PLC0415 - takes time that a writer of logs need not pay
    except ImportError as error:
        raise Missing("rows", package="h5py") from error
    return h5py


def load_filters() -> None:
    """Blosc, Zstandard and their kin, where the user has them."""
    with contextlib.suppress(ImportError):
        import hdf5plugin  # type: ignore[import-not-found]  # noqa: F401, PLC0415


@contextlib.contextmanager
def create(
    path: Path, *, libver: str | None = None, track_order: bool | None = None
) -> Iterator[Any]:
    """A new file under a name that is ours alone: so it needs no lock."""
    with (
        writing(path),
        hdf5().File(
            path,
            "x",
            libver=libver,
            locking=False,
            track_order=track_order,
            alignment_threshold=_ALIGNED_FROM_BYTES,
            alignment_interval=_PAGE_BYTES,
        ) as file,
    ):
        yield file


@contextlib.contextmanager
def writing(path: Path) -> Iterator[None]:
    """What HDF5 could not write is an OSError: of flushes and closes, h5py does not call it so."""
    try:
        yield
    except RuntimeError as error:
        told = str(error).partition("errno = ")[2].partition(",")[0]
        number = int(told) if told.isdecimal() else errno.EIO
        raise OSError(number, os.strerror(number), str(path)) from error


def open_finished(path: Path) -> Any:
    """A file that nobody changes any more: a lock would only fail on read-only mounts."""
    try:
        return hdf5().File(path, "r", locking=False)
    except OSError as error:
        if not path.exists():
            raise Damaged(f"{path} is gone", do="bring it back") from error
        raise Damaged(f"{path} cannot be opened as HDF5: {error}", do=RESCUE) from error


RESCUE: Final = "holdfast rescue saves what can still be read"


def chunk_rows_of(dataset: Dataset) -> int:
    return dataset.chunk_rows or max(1, CHUNK_BYTES // max(1, dataset.row_bytes))


def is_packed(dataset: Dataset) -> bool:
    """Whether its bytes in the file are not the bytes of its rows."""
    return dataset.is_text or dataset.compression is not None


def create_plain(group: Any, dataset: Dataset, rows: int) -> int:
    """Space for so many rows, one after the other; returns where in the file they begin."""
    h5py = hdf5()
    how = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    how.set_layout(h5py.h5d.CONTIGUOUS)
    how.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
    how.set_fill_time(h5py.h5d.FILL_TIME_NEVER)
    how.set_obj_track_times(False)
    links = h5py.h5p.create(h5py.h5p.LINK_CREATE)
    links.set_create_intermediate_group(True)
    made = h5py.h5d.create(
        group.id,
        dataset.name.encode(),
        h5py.h5t.py_create(dataset.numpy, logical=True),
        h5py.h5s.create_simple((rows, *dataset.row_shape)),
        dcpl=how,
        lcpl=links,
    )
    set_attrs(group[dataset.name], dataset)
    return made.get_offset() or 0


def create_packed(group: Any, dataset: Dataset, rows: int) -> "Appending":
    """A dataset of text or of compressed chunks, to be filled from its first row on."""
    h5py = hdf5()
    if dataset.is_text:
        made = group.create_dataset(
            dataset.name,
            shape=(rows, *dataset.row_shape),
            dtype=h5py.string_dtype(),
            track_times=False,
        )
        set_attrs(made, dataset)
        return Appending(made, TEXT_ROWS)
    chunk_rows = chunk_rows_of(dataset)
    made = group.create_dataset(
        dataset.name,
        shape=(rows, *dataset.row_shape),
        # Without end: else a chunk could not be larger than a short dataset.
        maxshape=(None, *dataset.row_shape),
        dtype=dataset.numpy,
        chunks=(chunk_rows, *dataset.row_shape),
        compression=dataset.compression,
        shuffle=True,
        fletcher32=True,
        track_times=False,
    )
    set_attrs(made, dataset)
    return Appending(made, chunk_rows)


def set_attrs(made: Any, dataset: Dataset) -> None:
    for key, value in dataset.attrs.items():
        made.attrs[key] = value


class Appending:
    """Writes rows such that no chunk is packed twice."""

    def __init__(self, made: Any, chunk_rows: int) -> None:
        self.made = made
        self.chunk_rows = chunk_rows
        self.rows = 0  # of whole chunks, written
        self._waiting: list[Rows] = []
        self._waiting_rows = 0
        row_bytes = max(1, made.dtype.itemsize * int(np.prod(made.shape[1:], dtype=np.int64)))
        self._slab_rows = chunk_rows * max(1, WRITE_BYTES // (chunk_rows * row_bytes))

    @property
    def is_at_a_chunk(self) -> bool:
        """Whether the next row begins a chunk, and all before it are written."""
        if self._waiting_rows % self.chunk_rows:
            return False
        self._write(self._waiting_rows)
        return True

    def append(self, rows: Rows) -> None:
        self._waiting.append(rows)
        self._waiting_rows += len(rows)
        if self._waiting_rows >= self._slab_rows:
            self._write(self._waiting_rows - self._waiting_rows % self.chunk_rows)

    def copy_chunk(self, chunk: bytes, filter_mask: int, rows: int) -> None:
        """The next chunk, as it lies in another file."""
        where = (self.rows, *(0 for _ in self.made.shape[1:]))
        self.made.id.write_direct_chunk(where, chunk, filter_mask)
        self.rows += rows

    def finish(self) -> None:
        self._write(self._waiting_rows)
        # A chunk that finds no room when the dataset is closed is gone, and h5py says nothing.
        self.made.flush()

    def _write(self, count: int) -> None:
        if not count:
            return
        rows = self._waiting[0] if len(self._waiting) == 1 else np.concatenate(self._waiting)
        self.made[self.rows : self.rows + count] = rows[:count]
        self.rows += count
        self._waiting = [rows[count:].copy()] if count < len(rows) else []
        self._waiting_rows -= count


def write_plain(fd: int, offset: int, batches: Iterable[Rows]) -> int:
    """Puts rows one after the other into a file; returns the checksum of their bytes."""
    xxh3 = Sum()
    waiting: list[memoryview] = []
    waiting_bytes = 0
    for rows in batches:
        view = bytes_of(rows)
        waiting.append(view)
        waiting_bytes += len(view)
        if waiting_bytes >= WRITE_BYTES:
            _write_joined(fd, offset, waiting, xxh3)
            offset += waiting_bytes
            waiting, waiting_bytes = [], 0
    _write_joined(fd, offset, waiting, xxh3)
    return xxh3.intdigest()


def _write_joined(fd: int, offset: int, views: list[memoryview], xxh3: Sum) -> None:
    joined = views[0] if len(views) == 1 else memoryview(b"".join(views))
    xxh3.update(joined)
    write_all(fd, joined, offset)


def write_all(fd: int, content: memoryview, offset: int) -> None:
    while content:
        written = os.pwrite(fd, content, offset)
        content = content[written:]
        offset += written


def add_text(xxh3: Sum, values: Rows) -> None:
    """The checksum goes on over text: of each item its length in 4 bytes, then its UTF-8."""
    flat = values.reshape(-1)
    for start in range(0, len(flat), TEXT_ROWS):
        pieces: list[bytes] = []
        for value in flat[start : start + TEXT_ROWS]:
            item = value if isinstance(value, bytes) else value.encode()
            pieces += (len(item).to_bytes(4, "little"), item)
        xxh3.update(b"".join(pieces))


def add_rows(xxh3: Sum, rows: Rows) -> None:
    """The checksum goes on over rows of numbers."""
    if rows.size:
        xxh3.update(bytes_of(np.ascontiguousarray(rows)))


def bytes_of(rows: Rows) -> memoryview:
    """The bytes of rows that lie one after the other, without a copy."""
    flat: Any = rows.reshape(-1).view(np.uint8)
    return memoryview(flat)


def adds(dataset: Dataset) -> Callable[[Sum, Rows], None]:
    """How a checksum goes on over rows of this dataset."""
    return add_text if dataset.is_text else add_rows

"""Reads a segment: the HDF5 file that a log became."""

import json
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from holdfast.rows.blocks import Block
from holdfast.rows.errors import Damaged, Missing, RowsError
from holdfast.rows.frames import Tail
from holdfast.rows.layout import FORMAT
from holdfast.rows.schema import Dataset

OURS = "_holdfast"
_JSON_BYTES_MAX = 64 << 20


class SegmentContent:
    """The rows of a segment. A context manager; never changes the file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.tail: Tail | None = None
        self._file = _open(path)
        try:
            ours = self._file[OURS]
            _check_format(path, ours.attrs["format"])
            self.header: dict[str, Any] = {key: _python(ours.attrs[key]) for key in ours.attrs}
            described = _described(ours)
            self.datasets = {one["name"]: Dataset.from_json(one) for one in described}
            self.blocks = self._read_blocks(ours["blocks"][()], described)
        except RowsError:
            self._file.close()
            raise
        except Exception as error:
            self._file.close()
            raise Damaged(
                f"{path} is no segment of rows: {error}", do="try holdfast rescue on it"
            ) from error

    def rows_of(self, block: Block) -> npt.NDArray[Any]:
        """The rows of a block of this segment; text as objects."""
        stored = self._file[block.dataset.name]
        place = slice(block.offset, block.offset + block.rows)
        try:
            if block.dataset.numpy is None:
                return np.asarray(stored.asstr()[place], dtype=object)
            return np.asarray(stored[place], dtype=block.dataset.numpy)
        except OSError as error:
            raise Damaged(
                f'{self.path}: rows {place.start} to {place.stop} of "{block.dataset.name}" '
                f"cannot be read: {error}",
                do="try holdfast rescue on it",
            ) from error

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _read_blocks(self, stored: npt.NDArray[Any], described: list[Any]) -> list[Block]:
        by_id = {dataset.id: dataset for dataset in self.datasets.values()}
        first = {one["id"]: one["first_row"] for one in described}
        made = []
        names = stored.dtype.names or ()
        for values in stored.tolist():
            one = dict(zip(names, values, strict=True))
            dataset = by_id[one["dataset"] if "dataset" in one else one["dataset_id"]]
            made.append(
                Block(
                    dataset=dataset,
                    first_row=one["first_row"],
                    rows=one["rows"],
                    time_ns=one["time_ns"],
                    offset=one["first_row"] - first[dataset.id],
                    nbytes=one["rows"] * dataset.row_bytes,
                )
            )
        return made


def _open(path: Path) -> Any:
    try:
        import h5py  # noqa: PLC0415 - writers need no HDF5
    except ImportError as error:
        raise Missing("rows", package="h5py") from error
    try:
        # Published segments never change: no lock is needed, and read-only mounts have none.
        return h5py.File(path, "r", locking=False)
    except OSError as error:
        raise Damaged(f"cannot open {path}: {error}", do="try holdfast rescue on it") from error


def _check_format(path: Path, found: Any) -> None:
    if found != FORMAT:
        raise Damaged(f"{path} is of format {found!r:.40}", do="use the version that wrote it")


def _described(ours: Any) -> list[Any]:
    text = ours["datasets"][()] if "datasets" in ours else ours.attrs["datasets"]
    found = json.loads(text)
    if not isinstance(found, list):
        raise TypeError("the list of datasets is no list")
    return found


def _python(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value

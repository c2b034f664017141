"""What a dataset is: its name, the dtype and shape of a row, and what goes with it into HDF5."""

import json
import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from holdfast.rows import dtypes, values
from holdfast.rows.errors import Refused
from holdfast.rows.frames import ROW_BYTES_MAX
from holdfast.rows.layout import check_dataset_name

DATASETS_MAX = 10_000
# HDF5 keeps attributes in a header of 64 KiB.
ATTRS_BYTES_MAX = 48 << 10
CHUNK_ROWS_MAX = 1 << 24
COMPRESSIONS = (None, "gzip", "lzf")
_DIMS_MAX = 16
_LENGTH_BYTES = 4


@dataclass(frozen=True)
class Dataset:
    """One dataset of one source. `id` is its number in the frames of this source."""

    id: int
    name: str
    dtype: dtypes.Spec
    row_shape: tuple[int, ...] = ()
    attrs: dict[str, Any] = field(default_factory=dict)
    chunk_rows: int | None = None
    compression: str | None = None

    @cached_property
    def numpy(self) -> np.dtype[Any] | None:
        """How a row lies in memory; None: text."""
        return dtypes.from_spec(self.dtype)

    @property
    def is_text(self) -> bool:
        return self.dtype == dtypes.TEXT

    @cached_property
    def items_per_row(self) -> int:
        return math.prod(self.row_shape)

    @cached_property
    def row_bytes(self) -> int:
        """Bytes of one row; of text, its least."""
        item = _LENGTH_BYTES if self.numpy is None else self.numpy.itemsize
        return self.items_per_row * item

    def is_like(self, other: "Dataset") -> bool:
        """Whether rows of one can go behind rows of the other."""
        return self.dtype == other.dtype and self.row_shape == other.row_shape

    def with_attrs(self, more: dict[str, Any]) -> "Dataset":
        return replace(self, attrs=check_attrs(self.name, {**self.attrs, **more}))

    def check(self, batch: Any) -> npt.NDArray[Any]:
        """The batch as rows in C order, exactly as declared; Refused otherwise."""
        return values.as_rows(self.name, self.numpy, self.row_shape, batch)

    def pack(self, rows: npt.NDArray[Any]) -> bytes:
        """The payload for rows that were checked."""
        return _pack_text(self.name, rows) if self.is_text else rows.tobytes()

    def unpack(self, payload: memoryview | bytes, rows: int) -> npt.NDArray[Any]:
        """The rows of a payload, without a copy if they are numbers."""
        shape = (rows, *self.row_shape)
        if self.numpy is None:
            return _unpack_text(payload, rows * self.items_per_row).reshape(shape)
        return np.frombuffer(payload, dtype=self.numpy).reshape(shape)

    def to_json(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "name": self.name,
            "dtype": self.dtype,
            "shape": list(self.row_shape),
            "attrs": self.attrs,
            "chunk_rows": self.chunk_rows,
            "compression": self.compression,
        }

    @classmethod
    def from_json(cls, found: Any) -> "Dataset":
        """A stranger's declaration, checked. Keys that we do not know are ignored."""
        try:
            shape = tuple(found["shape"])
            made = cls(
                id=found["id"],
                name=found["name"],
                dtype=found["dtype"],
                row_shape=shape,
                attrs=check_attrs(str(found["name"]), dict(found.get("attrs") or {})),
                chunk_rows=found.get("chunk_rows"),
                compression=found.get("compression"),
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise Refused("a declaration of a dataset is not whole", do="") from error
        made.check_self()
        return made

    def check_self(self) -> None:
        """Refuses what no writer of ours declares."""
        check_dataset_name(self.name)
        sizes = (*self.row_shape, self.id)
        if not all(type(size) is int and 0 <= size < 2**32 for size in sizes):
            raise Refused(f'dataset "{self.name}": a row shape is of whole numbers')
        if len(self.row_shape) > _DIMS_MAX or self.id >= DATASETS_MAX or 0 in self.row_shape:
            raise Refused(
                f'dataset "{self.name}": rows of shape {self.row_shape} cannot be kept',
                do=f"use at most {_DIMS_MAX} dimensions, none of them 0",
            )
        if self.row_bytes > ROW_BYTES_MAX:
            raise Refused(
                f'dataset "{self.name}": a row of {self.row_bytes} bytes is too large',
                do=f"use rows of at most {ROW_BYTES_MAX} bytes",
            )
        if self.compression not in COMPRESSIONS:
            raise Refused(
                f'dataset "{self.name}": no compression {self.compression!r:.40}',
                do='use "gzip", "lzf" or None',
            )
        chunk = 1 if self.chunk_rows is None else self.chunk_rows
        if type(chunk) is not int or not 0 < chunk <= CHUNK_ROWS_MAX:
            raise Refused(f'dataset "{self.name}": chunk_rows must be 1 to {CHUNK_ROWS_MAX}')


def declared(
    dataset_id: int, name: str, *, dtype: Any, shape: Any = (), attrs: dict[str, Any] | None = None,
    compression: str | None = None, chunk_rows: int | None = None,
) -> Dataset:  # fmt: skip
    """A dataset as the user declares it."""
    check_dataset_name(name)
    row_shape = (int(shape),) if isinstance(shape, int) else tuple(map(int, shape))
    made = Dataset(
        id=dataset_id,
        name=name,
        dtype=_kept_dtype(name, dtype),
        row_shape=row_shape,
        attrs=check_attrs(name, attrs or {}),
        chunk_rows=chunk_rows,
        compression=compression,
    )
    made.check_self()
    return made


def _kept_dtype(name: str, dtype: Any) -> dtypes.Spec:
    try:
        return dtypes.to_spec(dtypes.canonical(dtype))
    except Refused as refused:
        raise Refused(f'dataset "{name}": {refused.message}', do=refused.do) from None


def taken_from(dataset_id: int, name: str, batch: Any) -> Dataset:
    """The dataset that a first batch describes."""
    check_dataset_name(name)
    found = values.natural(name, batch)
    if found.size == 0 and not values.carries_dtype(batch):
        raise Refused(f'the first batch of dataset "{name}" is empty', do="declare it: .dataset()")
    if found.dtype.kind == "O" and all(isinstance(value, str) for value in found.flat):
        kind: Any = dtypes.TEXT
    else:
        kind = found.dtype
    return declared(dataset_id, name, dtype=kind, shape=found.shape[1:])


def check_attrs(name: str, attrs: dict[str, Any]) -> dict[str, Any]:
    """Attributes as plain values that JSON and HDF5 both hold."""
    plain = {key: _plain(name, key, value) for key, value in attrs.items()}
    if len(json.dumps(plain)) > ATTRS_BYTES_MAX:
        raise Refused(
            f'dataset "{name}": its attributes are longer than {ATTRS_BYTES_MAX} bytes',
            do="keep them as a dataset of their own",
        )
    return plain


def _plain(name: str, key: Any, value: Any) -> Any:
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if isinstance(value, list | tuple):
        value = list(value)
    kinds = {type(item) for item in _leaves(value)}
    is_text_whole = kinds != {str} or all("\0" not in item for item in _leaves(value))
    in_range = kinds != {int} or all(-(2**63) <= item < 2**64 for item in _leaves(value))
    if isinstance(key, str) and key and len(kinds) == 1 and kinds <= {str, bool, int, float}:
        try:
            np.array(value)
        except ValueError:
            in_range = False
        if is_text_whole and in_range and not key.startswith("_holdfast"):
            return value
    raise Refused(
        f'dataset "{name}": attribute {key!r:.40} cannot be kept',
        do="use text, a number, a bool, or a list of one of these",
    )


def _leaves(value: Any) -> list[Any]:
    if isinstance(value, list):
        return [leaf for item in value for leaf in _leaves(item)]
    return [value]


def _pack_text(name: str, rows: npt.NDArray[Any]) -> bytes:
    try:
        texts = [text.encode() for text in rows.flat]
    except UnicodeEncodeError as error:
        raise Refused(
            f'dataset "{name}" got text that is not Unicode', do="encode it with errors='replace'"
        ) from error
    if any(b"\0" in text for text in texts):
        raise Refused(
            f'dataset "{name}" got text with a NUL character, which HDF5 cuts off',
            do="remove it, or keep the bytes in a uint8 dataset",
        )
    lengths = np.array([len(text) for text in texts], dtype="<u4")
    return b"".join([lengths.tobytes(), *texts])


def _unpack_text(payload: memoryview | bytes, count: int) -> npt.NDArray[Any]:
    view = memoryview(payload)
    ends = np.cumsum(np.frombuffer(view[: count * _LENGTH_BYTES], dtype="<u4"), dtype=np.uint64)
    body = bytes(view[count * _LENGTH_BYTES :])
    found = np.empty(count, dtype=object)
    start = 0
    for number, end in enumerate(ends.tolist()):
        found[number] = body[start:end].decode(errors="replace")
        start = end
    return found

"""Which dtypes rows may have: those that HDF5 holds plainly, little endian and packed."""

from typing import Any

import numpy as np

from holdfast.rows.errors import Refused

TEXT = "str"
_FIELDS_MAX = 1024
_DEPTH_MAX = 4
_ITEM_BYTES_MAX = 1 << 20
_DIMS_MAX = 16
_KINDS = "biufcS"
_LONG_DOUBLES = "gG"

Spec = str | list[Any]


def canonical(dtype: Any) -> np.dtype[Any] | None:
    """How rows of this dtype are kept; None: as text. Refuses what HDF5 cannot hold."""
    if isinstance(dtype, str) and dtype == TEXT:
        return None
    try:
        found = np.dtype(dtype)
    except (TypeError, ValueError) as error:
        raise Refused(f"{dtype!r:.80} is no dtype", do='use one of NumPy, or "str"') from error
    if found.kind in "UT" or dtype is str:
        return None
    return _canonical(found, depth=0)


def to_spec(dtype: np.dtype[Any] | None) -> Spec:
    """As JSON may hold it: "<f4", "str", or a list of fields."""
    if dtype is None:
        return TEXT
    if dtype.fields is None:
        return dtype.str
    return [_field_to_spec(name, dtype.fields[name][0]) for name in dtype.names or ()]


def from_spec(spec: Any) -> np.dtype[Any] | None:
    """The inverse of to_spec, for a stranger's JSON. Refuses what to_spec would not write."""
    found = None if spec == TEXT else _from_spec(spec, depth=0)
    if found is not None and to_spec(_canonical(found, depth=0)) != spec:
        raise Refused(f"{spec!r:.80} is no dtype of rows", do="look at who wrote it")
    return found


def _canonical(dtype: np.dtype[Any], *, depth: int) -> np.dtype[Any]:
    if dtype.fields is not None:
        return _canonical_fields(dtype, depth=depth)
    if dtype.kind not in _KINDS or dtype.char in _LONG_DOUBLES or dtype.itemsize == 0:
        raise Refused(f"rows of dtype {dtype} cannot be kept in HDF5", do=_instead(dtype))
    if dtype.itemsize > _ITEM_BYTES_MAX:
        raise Refused(f"dtype {dtype} is too wide", do="use a row shape instead")
    # A fresh dtype by its name: metadata would be lost on the way to disk and back.
    return np.dtype(dtype.newbyteorder("<").str)


def _canonical_fields(dtype: np.dtype[Any], *, depth: int) -> np.dtype[Any]:
    names = dtype.names or ()
    if not names or len(names) > _FIELDS_MAX or depth >= _DEPTH_MAX:
        raise Refused(
            f"a compound dtype of {len(names)} fields, {depth} deep, cannot be kept",
            do=f"use 1 to {_FIELDS_MAX} fields, nested at most {_DEPTH_MAX} deep",
        )
    fields: list[Any] = []
    for name in names:
        element = dtype.fields[name][0] if dtype.fields else dtype
        plain, shape = element.subdtype or (element, ())
        kept = _canonical(plain, depth=depth + 1)
        fields.append((name, kept, shape) if shape else (name, kept))
    packed = np.dtype(fields)
    if packed.itemsize > _ITEM_BYTES_MAX:
        raise Refused("a compound dtype is too wide", do="use several datasets")
    return packed


def _field_to_spec(name: str, dtype: np.dtype[Any]) -> list[Any]:
    plain, shape = dtype.subdtype or (dtype, ())
    return [name, to_spec(plain), list(shape)] if shape else [name, to_spec(plain)]


def _from_spec(spec: Any, *, depth: int) -> np.dtype[Any]:
    try:
        if isinstance(spec, str):
            return np.dtype(spec)
        if isinstance(spec, list) and 0 < len(spec) <= _FIELDS_MAX and depth < _DEPTH_MAX:
            return np.dtype([_field_from_spec(*field, depth=depth) for field in spec])
    except (TypeError, ValueError, SyntaxError) as error:
        raise Refused(f"{spec!r:.80} is no dtype of rows", do="look at who wrote it") from error
    raise Refused(f"{spec!r:.80} is no dtype of rows", do="look at who wrote it")


def _field_from_spec(name: Any, spec: Any, shape: Any = (), *, depth: int) -> Any:
    if not isinstance(name, str) or not all(isinstance(n, int) and n > 0 for n in shape):
        raise TypeError(name)
    plain = _from_spec(spec, depth=depth + 1)
    return (name, plain, tuple(shape)) if shape else (name, plain)


def _instead(dtype: np.dtype[Any]) -> str:
    if dtype.kind in "mM":
        return 'keep .astype("int64") of it, and its unit as an attribute'
    if dtype.kind == "O":
        return 'use "str" for text, or a number dtype: .astype("float64")'
    if dtype.char in _LONG_DOUBLES:
        return 'keep .astype("float64" or "complex128") of it'
    if dtype.kind == "S":
        return "declare the width, as in S16"
    return 'keep .astype("float32") of it, or its bits: .view("uint16" or "uint8")'

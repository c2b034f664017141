"""Turns a batch into an array of exactly the wanted dtype and shape, or refuses it."""

from typing import Any

import numpy as np
import numpy.typing as npt

from holdfast.rows.dtypes import canonical
from holdfast.rows.errors import Refused

Array = npt.NDArray[Any]
# Which of Python's numbers a dataset of which kind takes, if they fit.
_TAKEN_BY: dict[str, set[type]] = {
    "b": {bool},
    "i": {int},
    "u": {int},
    "f": {int, float},
    "c": {int, float, complex},
    "S": set(),
    "V": set(),
}
_INTS_EXACT_MAX = 2**53  # beyond this float64 skips whole numbers
_FLOATS_MAX = 2**1023  # what Python itself can make a float of
_PYTHON = (bool, int, float, complex, str)


def carries_dtype(batch: Any) -> bool:
    """Arrays, NumPy's scalars and tensors have a dtype; Python's numbers and lists have none."""
    return hasattr(batch, "__array__")


def natural(name: str, batch: Any) -> Array:
    """The batch as an array of its own dtype: text as an array of objects."""
    found = _from_array(name, batch) if carries_dtype(batch) else _from_python(name, batch)
    if found.dtype.kind in "UT":
        return found.astype(object)
    return found


def as_rows(
    name: str, dtype: np.dtype[Any] | None, row_shape: tuple[int, ...], batch: Any
) -> Array:
    """An array (rows, *row_shape) in C order of exactly this dtype (text: objects), or Refused."""
    found = natural(name, batch)
    if found.ndim == 0 and row_shape == ():
        found = found.reshape(1)
    if found.size == 0 and found.ndim == 1 and not carries_dtype(batch):
        found = np.empty((0, *row_shape), object if dtype is None else dtype)
    if found.ndim == 0 or found.shape[1:] != row_shape:
        raise _wrong_shape(name, row_shape, found)
    if dtype is None:
        return _text(name, found)
    if found.dtype == dtype and (carries_dtype(batch) or _is_exact(found)):
        return np.ascontiguousarray(found)
    if found.dtype.fields is None and not carries_dtype(batch) and _is_python(batch):
        return _fitting(name, dtype, batch).reshape(found.shape)
    if found.dtype.kind != "O" and _is_same_kind(found.dtype, dtype):
        return found.astype(dtype)
    raise Refused(
        f'dataset "{name}" holds {dtype}, got {found.dtype}',
        do=f"convert it yourself if that is right: .astype({dtype.str!r})"
        if dtype.fields is None
        else "give an array of the same fields in the same order",
    )


def _from_array(name: str, batch: Any) -> Array:
    if isinstance(batch, np.ma.MaskedArray):
        raise Refused(
            f'the batch for dataset "{name}" is a masked array, and HDF5 has no masks',
            do="give .filled(value), and the mask as a dataset of its own",
        )
    try:
        return np.asarray(batch)
    except Exception as error:  # foreign tensors raise whatever they like
        raise Refused(
            f'the batch for dataset "{name}" is no array: {error}', do="give a NumPy array"
        ) from error


def _from_python(name: str, batch: Any) -> Array:
    try:
        if isinstance(batch, str) or _has_text(batch):
            return np.array(batch, dtype=object)
        found = np.asarray(batch)
    except (ValueError, TypeError, OverflowError) as error:
        raise Refused(
            f'the batch for dataset "{name}" is no array: {error}',
            do="give rows of equal shape and one kind of value",
        ) from error
    if found.dtype.kind == "O" and not _is_python(batch):
        raise Refused(
            f'the batch for dataset "{name}" holds {type(batch).__name__}, not numbers or text',
            do="give a NumPy array, numbers or text",
        )
    return found


def _has_text(batch: Any) -> bool:
    while isinstance(batch, list | tuple) and batch:
        batch = batch[0]
    return isinstance(batch, str)


def _is_python(batch: Any) -> bool:
    if isinstance(batch, list | tuple):
        return all(map(_is_python, batch))
    return isinstance(batch, _PYTHON) and not isinstance(batch, np.generic)


def _is_exact(found: Array) -> bool:
    """Whether no whole number can have been rounded when NumPy made floats of a list."""
    return found.dtype.kind not in "fc" or not (np.abs(found) >= _INTS_EXACT_MAX).any()


def _is_same_kind(got: np.dtype[Any], wanted: np.dtype[Any]) -> bool:
    """Whether they differ in byte order or padding only."""
    try:
        return canonical(got) == wanted
    except Refused:
        return False


def _text(name: str, found: Array) -> Array:
    if found.dtype.kind != "O":
        if found.size == 0 and found.dtype.kind == "f":
            return found.astype(object)
        raise Refused(
            f'dataset "{name}" holds text, got {found.dtype}',
            do="convert it yourself: .astype(str)",
        )
    for value in found.flat:
        if not isinstance(value, str):
            raise Refused(
                f'dataset "{name}" holds text, got a value of type {type(value).__name__}',
                do="convert it yourself: str(value), or value.decode()",
            )
    return np.ascontiguousarray(found)


def _fitting(name: str, dtype: np.dtype[Any], batch: Any) -> Array:
    """Python's numbers, if this dtype holds every one of them."""
    # As objects: NumPy itself would make floats of [0, 2**64 - 1].
    found = np.array(batch, dtype=object)
    kinds = {type(value) for value in found.flat}
    if kinds <= _TAKEN_BY[dtype.kind] and _is_in_range(dtype, found):
        with np.errstate(over="ignore"):
            kept = found.astype(dtype)
        if dtype.kind not in "fc" or _survives(found, kept):
            return kept
    names = ", ".join(sorted(kind.__name__ for kind in kinds))
    raise Refused(
        f'dataset "{name}" holds {dtype}, got {names} with a value that does not fit',
        do="give values that fit, or use a dataset of another dtype",
    )


def _is_in_range(dtype: np.dtype[Any], found: Array) -> bool:
    if dtype.kind not in "iu":
        return all(not isinstance(value, int) or abs(value) < _FLOATS_MAX for value in found.flat)
    limits = np.iinfo(dtype)
    return all(limits.min <= value <= limits.max for value in found.flat)


def _survives(found: Array, kept: Array) -> bool:
    """Whether whole numbers are kept exactly, and finite ones stay finite."""
    for old, new in zip(found.flat, kept.flat, strict=True):
        if isinstance(old, int):
            if complex(new) != old:
                return False
        elif np.isfinite(old) != np.isfinite(new):
            return False
    return True


def _wrong_shape(name: str, row_shape: tuple[int, ...], found: Array) -> Refused:
    wanted = ", ".join(map(str, ("n", *row_shape)))
    do = "reshape it yourself; nothing is broadcast"
    if found.shape == row_shape:
        do = "for one row give batch[np.newaxis]"
    return Refused(f'dataset "{name}" takes batches of shape ({wanted}), got {found.shape}', do=do)

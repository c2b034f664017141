"""Attributes of plain files: what each says, and the same one at another object."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from holdfast.rows import storage
from holdfast.rows.plain_files import value_types
from holdfast.rows.plain_files.values import add
from holdfast.rows.sums import Sum

# HDF5 keeps these itself, where a dimension scale is attached.
OF_SCALES: Final = frozenset({"DIMENSION_LIST", "REFERENCE_LIST"})
DENSE_FROM_BYTES: Final = 60_000  # an attribute of this size needs the newer format of files
_TEXT_CHARS_MAX: Final = 60
Translate = Callable[[Any], Any]


@dataclass(frozen=True)
class AttributeFound:
    """Enough of an attribute to tell whether another one says the same."""

    xxh3: int
    text: str
    references: str
    nbytes: int


def attributes_of(found: Any) -> dict[str, AttributeFound]:
    """Those of a group or a dataset, but not those that HDF5 keeps for scales."""
    return {
        key: _attribute(found.attrs.get_id(key))
        for key in found.attrs
        if key not in OF_SCALES or not _points(found.attrs.get_id(key))
    }


def copy_attribute(source: Any, key: str, target: Any, translate: Translate) -> None:
    """The same type, shape and value at another object; references are translated."""
    h5py = storage.hdf5()
    one = source.attrs.get_id(key)
    kind = one.get_type().copy()
    made = h5py.h5a.create(target.id, _name(key), kind, one.get_space())
    values = _values(one)
    if values is None:
        return
    if value_types.references_in(kind):
        values = translate(values)
    made.write(values, mtype=None if values.dtype.hasobject else kind)


def _attribute(one: Any) -> AttributeFound:
    kind = one.get_type()
    references = value_types.references_in(kind)
    xxh3 = Sum(value_types.encoded(kind) + repr(one.shape).encode())
    values = None if references else _values(one)
    nbytes = 0
    if values is not None:
        add(xxh3, values)
        nbytes = 16 * values.size if values.dtype.hasobject else values.nbytes
    return AttributeFound(xxh3.intdigest(), _text(one, references), references, nbytes)


def _values(one: Any) -> Any:
    """None where there is no value at all."""
    if one.get_space().get_simple_extent_type() == storage.hdf5().h5s.NULL:
        return None
    kind = one.get_type()
    if value_types.is_variable(kind) or value_types.references_in(kind):
        found = np.empty(one.shape, dtype=one.dtype)
        memory = None
    else:
        found, memory = np.empty(one.shape, dtype=f"V{kind.get_size()}"), kind.copy()
    if found.size:
        one.read(found, mtype=memory)
    return found


def _text(one: Any, references: str) -> str:
    """What a person sees of it."""
    if references:
        return references
    try:
        found = np.empty(one.shape, dtype=one.dtype)
        one.read(found)
        shown = found.item() if found.size == 1 else found.tolist()
    except (OSError, TypeError, ValueError):
        return value_types.told(one.get_type())
    if isinstance(shown, bytes):
        shown = shown.decode(errors="replace")
    text = repr(shown)
    return text if len(text) <= _TEXT_CHARS_MAX else f"{text[:_TEXT_CHARS_MAX]}…"


def _points(one: Any) -> bool:
    return bool(value_types.references_in(one.get_type()))


def _name(key: str) -> bytes:
    return key.encode(errors="surrogateescape")

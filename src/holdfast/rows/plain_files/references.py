"""References to objects and regions: the same ones in the merged file, by name."""

from collections.abc import Callable
from typing import Any

import numpy as np

from holdfast.rows import storage
from holdfast.rows.errors import Refused
from holdfast.rows.sums import Sum

Rename = Callable[[str], str]


def translated(values: Any, source: Any, target: Any, rename: Rename) -> Any:
    """References of another file that lead to the same objects in this one."""
    h5py = storage.hdf5()
    made = np.empty(values.shape, dtype=values.dtype)
    for place, reference in np.ndenumerate(values):
        if not reference:
            made[place] = reference
            continue
        name = rename(_name(reference, source))
        if isinstance(reference, h5py.h5r.RegionReference):
            region = h5py.h5r.get_region(reference, source.id)
            made[place] = h5py.h5r.create(target.id, name.encode(), h5py.h5r.DATASET_REGION, region)
        else:
            made[place] = target[name].ref
    return made


def sum_of_references(dataset: Any, rename: Rename) -> int:
    """A checksum of what they lead to: the references themselves are addresses in a file."""
    h5py = storage.hdf5()
    xxh3 = Sum()
    for reference in np.asarray(dataset[()], dtype=object).reshape(-1):
        if not reference:
            xxh3.update(b"\0")
            continue
        xxh3.update(rename(_name(reference, dataset.file)).encode() + b"\n")
        if isinstance(reference, h5py.h5r.RegionReference):
            xxh3.update(h5py.h5r.get_region(reference, dataset.file.id).encode())
    return xxh3.intdigest()


def _name(reference: Any, file: Any) -> str:
    found = storage.hdf5().h5r.get_name(reference, file.id)
    if not found:
        raise Refused(
            f"{file.filename} has a reference to an object without a name",
            do="give it a name, or remove the reference",
        )
    return bytes(found).decode().strip("/")

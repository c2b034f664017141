"""Datasets of a merged file of plain files: made like their first source, chunks copied whole."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from holdfast.rows import storage
from holdfast.rows.errors import Damaged
from holdfast.rows.plain_files import value_types
from holdfast.rows.plain_files.open_files import OpenFiles
from holdfast.rows.plain_files.plan import TASK_SUFFIX, FileTarget, FileUnit
from holdfast.rows.plain_files.sources import SourceFile, rescue_it
from holdfast.rows.plain_files.values import access

_CHUNK_BYTES: Final = 1 << 20
_PACKED_FROM_BYTES: Final = 1 << 14


def create_dataset(file: Any, target: FileTarget, files: OpenFiles) -> Any:
    """Type, chunks, filters and fill value are those of the first file that has it."""
    h5py = storage.hdf5()
    found = target.found
    how = files[target.units[0].file][target.source_name].id.get_create_plist()
    if found.chunks is None:
        how = _without_layout(how)
        if not target.is_packed:
            how.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
            how.set_fill_time(h5py.h5d.FILL_TIME_NEVER)
    how.set_obj_track_times(False)
    made = h5py.h5d.create(
        file.id,
        target.name.encode(),
        value_types.decoded(found.kind),
        _space(target),
        dcpl=how,
        dapl=access(),
    )
    return h5py.Dataset(made)


def _space(target: FileTarget) -> Any:
    h5s = storage.hdf5().h5s
    if target.found.space == "nothing":
        return h5s.create(h5s.NULL)
    if not target.shape:
        return h5s.create(h5s.SCALAR)
    most = tuple(h5s.UNLIMITED if one is None else one for one in target.maxshape)
    return h5s.create_simple(target.shape, most)


def _without_layout(how: Any) -> Any:
    """Rows that were virtual, in other files or beside the description become plain ones."""
    h5py = storage.hdf5()
    if how.get_layout() != h5py.h5d.VIRTUAL and not how.get_external_count():
        how.set_layout(h5py.h5d.CONTIGUOUS)
        return how
    made = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    made.set_layout(h5py.h5d.CONTIGUOUS)
    return made


def copied_chunks(source: Any, made: Any, target: FileTarget, unit: FileUnit) -> bool:
    """Copies chunks as they are, without unpacking them, if they fit; whether they did."""
    found, first = unit.found, target.found
    if found.chunks is None or found.is_variable:
        return False
    if (found.chunks, found.filters, found.fill) != (first.chunks, first.filters, first.fill):
        return False
    is_last = unit.first + unit.rows == target.rows
    if unit.first % found.chunks[0] or (not is_last and unit.rows % found.chunks[0]):
        return False
    for offset, mask, chunk in _chunks(source[target.source_name]):
        made.id.write_direct_chunk((offset[0] + unit.first, *offset[1:]), chunk, mask)
    return True


def _chunks(dataset: Any) -> Iterator[tuple[tuple[int, ...], int, bytes]]:
    """All chunks that are there, packed as they are; Damaged if they cannot be read."""
    offsets: list[tuple[int, ...]] = []
    path = Path(dataset.file.filename)
    try:
        dataset.id.chunk_iter(lambda chunk: offsets.append(chunk.chunk_offset))
        for offset in offsets:
            mask, chunk = dataset.id.read_direct_chunk(offset)
            yield offset, mask, chunk
    except (OSError, RuntimeError, ValueError) as error:
        raise Damaged(
            f"{path}: {dataset.name} cannot be read: {error}", do=rescue_it(path)
        ) from error


def write_tasks(file: Any, target: FileTarget, sources: Sequence[SourceFile]) -> None:
    """The column that says of each row of a dataset which task it is of."""
    h5py = storage.hdf5()
    names = [sources[unit.file].task.encode() for unit in target.units]
    width = max(map(len, names))
    chunk = max(1, _CHUNK_BYTES // width)
    is_packed = target.rows * width >= _PACKED_FROM_BYTES or target.maxshape[0] is None
    made = file.create_dataset(
        target.name + TASK_SUFFIX,
        shape=(target.rows,),
        maxshape=target.maxshape[:1] if is_packed else None,
        dtype=h5py.string_dtype("utf-8", width),
        chunks=(min(chunk, max(1024, target.rows)),) if is_packed else None,
        compression="gzip" if is_packed else None,
        compression_opts=1 if is_packed else None,
        track_times=False,
    )
    for name, unit in zip(names, target.units, strict=True):
        for first in range(unit.first, unit.first + unit.rows, chunk):
            behind = min(first + chunk, unit.first + unit.rows)
            made[first:behind] = np.full(behind - first, name, dtype=made.dtype)
    made.flush()

"""The index: one HDF5 file that shows the rows of all segments as if they lay in it."""

import os
import resource
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from holdfast.rows import layout, storage
from holdfast.rows.errors import Damaged, Refused, RowsError, unwritable
from holdfast.rows.merge_plan import Plan, Target, plan_merge
from holdfast.rows.merge_sources import readable, waiting
from holdfast.rows.publishing import private_path, publish
from holdfast.rows.reading import parts
from holdfast.rows.sealing import seal_folder
from holdfast.rows.segment import GROUP, Segment, read_json, read_segment, write_json

FORMAT: Final = "holdfast-index/1"
LIBVER: Final = "v110"  # the oldest with virtual datasets: Debian's tools read it
SEGMENTS: Final = "segments"
FILES_SPARE: Final = 64  # that a reader of the index may have open besides


@dataclass(frozen=True)
class Indexed:
    """What the index shows, and what it does not."""

    path: Path
    rows: dict[str, int]
    segments: int
    not_in: tuple[str, ...] = ()  # logs that are still written, or cannot be sealed
    notes: tuple[str, ...] = ()


def index(logdir: str | os.PathLike[str]) -> Indexed:
    """Makes LOGDIR/rows/index.h5 anew: all rows that are in segments, in the order of tasks.

    Logs that are over are sealed first. No row is copied.
    """
    place = Path(os.path.abspath(logdir))  # noqa: PTH100
    folder = layout.rows_folder(place)
    path = folder / layout.INDEX
    _, errors = seal_folder(place)
    known = _known(path)
    segments: list[Segment] = []
    not_in = [str(error.message) for error in errors]
    for source in readable(place):
        for part in parts(source):
            if part.is_segment:
                segments.append(_described(part.path, folder, known))
            elif not part.is_over:
                not_in.append(f"{part.path} is still written")
    not_in += [f"{one.task}: its logs wait for the central writer" for one in waiting(place)]
    if not segments and not not_in:
        raise RowsError(
            f"there are no rows in {place}",
            do="name the directory of rows.open(); plain HDF5 files are merged with -o FILE",
        )
    plan = plan_merge(segments, order="task")
    try:
        with private_path(path) as private:
            _write(private, folder, plan)
            publish(private, path)
    except OSError as error:
        raise unwritable(path, error, do="make room, or mend the disk, then try again") from error
    return Indexed(
        path=path,
        rows={target.dataset.name: target.rows for target in plan.targets},
        segments=len(segments),
        not_in=tuple(not_in),
        notes=(*plan.notes, *_file_notes(len(segments))),
    )


def open_index(logdir: str | os.PathLike[str]) -> Any:
    """The index as an open h5py.File, from which every row can be read.

    HDF5 opens each segment that it reads from and keeps it open. With too few files allowed it
    shows missing rows as fill values and says nothing: so the limit is raised, or this refuses.
    """
    path = layout.rows_folder(logdir) / layout.INDEX
    file = storage.open_finished(path)
    try:
        told = read_json(file[GROUP], SEGMENTS)
        _allow_files(len(told))
        for one in told:
            if not (path.parent / one["path"]).is_file():
                raise Damaged(f"{path.parent / one['path']} is gone", do="make the index anew")
    except (KeyError, TypeError, ValueError) as error:
        file.close()
        raise Damaged(f"{path} is no index of ours: {error}", do="make it anew") from error
    except RowsError:
        file.close()
        raise
    return file


def _write(private: Path, folder: Path, plan: Plan) -> None:
    with storage.create(private, libver=LIBVER) as file:
        for target in plan.targets:
            _write_virtual(file, folder, target)
        group = file.create_group(GROUP)
        group.attrs["format"] = FORMAT
        write_json(group, SEGMENTS, [_remembered(one, folder) for one in plan.segments])


def _write_virtual(file: Any, folder: Path, target: Target) -> None:
    """By the low-level interface: the other takes 30 times as long for each segment."""
    h5py, dataset = storage.hdf5(), target.dataset
    how = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    how.set_obj_track_times(False)
    fill = _fill_value(dataset.numpy)
    if fill is not None:
        how.set_fill_value(fill)
    whole = h5py.h5s.create_simple((target.rows, *dataset.row_shape))
    one_each = (1,) * (1 + len(dataset.row_shape))
    name = f"/{dataset.name}".encode()
    for unit, first in zip(target.units, target.starts.tolist(), strict=False):
        shape = (unit.stored.rows, *dataset.row_shape)
        whole.select_hyperslab((first, *(0 for _ in dataset.row_shape)), one_each, block=shape)
        path = os.fsencode(unit.segment.path.relative_to(folder))
        how.set_virtual(whole, path, name, h5py.h5s.create_simple(shape))
    whole.select_all()
    kind = h5py.string_dtype() if dataset.is_text else dataset.numpy
    links = h5py.h5p.create(h5py.h5p.LINK_CREATE)
    links.set_create_intermediate_group(True)
    h5py.h5d.create(
        file.id, name, h5py.h5t.py_create(kind, logical=True), whole, dcpl=how, lcpl=links
    )
    storage.set_attrs(file[dataset.name], dataset)


def _fill_value(dtype: Any) -> Any:
    """What HDF5 shows where a segment is gone: nothing that looks like a row, where it can be."""
    if dtype is not None and dtype.kind in "fc":
        return np.array(np.nan, dtype=dtype)
    if dtype is not None and dtype.kind == "i":
        return np.array(np.iinfo(dtype).min, dtype=dtype)
    return None


def _described(path: Path, folder: Path, known: dict[Any, Segment]) -> Segment:
    """As an earlier index remembers it, for a segment never changes; else by reading it."""
    return known.get(_identity(path, folder)) or read_segment(path)


def _identity(path: Path, folder: Path) -> tuple[str, int, int]:
    found = path.stat()
    return str(path.relative_to(folder)), found.st_size, found.st_mtime_ns


def _remembered(segment: Segment, folder: Path) -> dict[str, Any]:
    path, size, mtime_ns = _identity(segment.path, folder)
    return {"path": path, "size": size, "mtime_ns": mtime_ns} | segment.to_json()


def _known(path: Path) -> dict[Any, Segment]:
    """What the last index says of its segments; nothing if it cannot be read."""
    try:
        with storage.open_finished(path) as file:
            if file[GROUP].attrs["format"] != FORMAT:
                return {}
            return {
                (one["path"], one["size"], one["mtime_ns"]): Segment.from_json(
                    path.parent / one["path"], one
                )
                for one in read_json(file[GROUP], SEGMENTS)
            }
    except (RowsError, KeyError, TypeError, ValueError, OSError):
        return {}


def _file_notes(segments: int) -> Sequence[str]:
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or segments + FILES_SPARE <= soft:
        return ()
    why = (
        f"to read all of it takes {segments:,} open files, and {soft:,} are allowed: HDF5 would "
        "show fill values for the rest and say nothing"
    )
    return (f"{why}; raise the limit (ulimit -n {segments + FILES_SPARE}), or merge",)


def _allow_files(segments: int) -> None:
    wanted = segments + FILES_SPARE
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or wanted <= soft:
        return
    if hard != resource.RLIM_INFINITY and wanted > hard:
        raise Refused(
            f"the index shows {segments:,} segments, and this process may open {hard:,} files",
            do="merge them with holdfast merge -o, or raise the limit (ulimit -Hn)",
        )
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))

"""What is in one plain HDF5 file: all its objects and links, without the rows."""

import os
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from math import prod
from pathlib import Path
from typing import Any, Final

from holdfast.rows import storage
from holdfast.rows.errors import Damaged, Refused, RowsError
from holdfast.rows.plain_files import value_types
from holdfast.rows.plain_files.attributes import AttributeFound, attributes_of
from holdfast.rows.plain_files.sources import SourceFile, rescue_it
from holdfast.rows.plain_files.values import sum_of_rows
from holdfast.rows.segment import GROUP

GROUP_KIND, DATASET, TYPE = "group", "dataset", "named type"
SAME, SOFT, EXTERNAL = "hard link", "soft link", "external link"
OBJECTS_MAX: Final = 1_000_000
DEPTH_MAX: Final = 500


@dataclass(frozen=True)
class DatasetFound:
    """A dataset, as far as a merge must know it."""

    space: str  # rows, scalar or nothing
    shape: tuple[int, ...]
    maxshape: tuple[int | None, ...]
    chunks: tuple[int, ...] | None
    filters: tuple[Any, ...]
    kind: bytes
    kind_told: str
    item_bytes: int
    is_variable: bool
    references: str
    offset: int | None  # where its rows begin in the file, if they lie there as they are
    stored_bytes: int
    fill: str
    scales: tuple[tuple[int, str], ...] = ()  # axis, name of the scale

    @property
    def rows(self) -> int:
        return self.shape[0] if self.shape else int(self.space == "scalar")

    @property
    def row_shape(self) -> tuple[int, ...]:
        return self.shape[1:]

    @property
    def nbytes(self) -> int:
        return self.item_bytes * prod(self.shape) if self.space != "nothing" else 0


@dataclass(frozen=True)
class ObjectFound:
    """One name in a file, and what it leads to."""

    kind: str
    leads_to: str = ""  # of a link; of a named type, its words
    attributes: dict[str, AttributeFound] = field(default_factory=dict)
    dataset: DatasetFound | None = None
    in_file: str = ""  # of an external link


@dataclass(frozen=True)
class FileSurvey:
    """Objects by name, those above before those below; the root is ""."""

    source: SourceFile
    objects: dict[str, ObjectFound]
    keeps_order: bool


def survey_file(source: SourceFile, *, with_rows: bool) -> FileSurvey:
    """Damaged if it cannot be read; with_rows also reads all rows, to find out."""
    path = source.path
    try:
        with storage.open_finished(path) as file:
            walk = _Walk(file, path)
            objects = dict(walk.objects())
            walk.name_scales(objects)
            if with_rows:
                _read_all(file, objects)
            order = file["/"].id.get_create_plist().get_link_creation_order()
    except RowsError as error:
        if isinstance(error, Damaged):
            raise Damaged(error.message, do=rescue_it(path)) from error
        raise
    except (OSError, RuntimeError, KeyError, ValueError, TypeError) as error:
        raise Damaged(f"{path} cannot be read: {error}", do=rescue_it(path)) from error
    return FileSurvey(source, objects, bool(order))


def _read_all(file: Any, objects: dict[str, ObjectFound]) -> None:
    for name, one in objects.items():
        if one.dataset is not None and one.dataset.space != "nothing":
            sum_of_rows(file[name], 0, one.dataset.rows)


class _Walk:
    """One way through a file, by names, each object once."""

    def __init__(self, file: Any, path: Path) -> None:
        self._file = file
        self._path = path
        self._seen: dict[Any, str] = {}  # addresses

    def objects(self) -> Iterator[tuple[str, ObjectFound]]:
        root = self._file["/"]
        if GROUP in root:
            raise Refused(
                f"{self._path} was made by holdfast",
                do="name the log directory it is of, or the files that it was merged from",
            )
        self._seen[self._address(root)] = ""
        yield "", ObjectFound(GROUP_KIND, attributes=attributes_of(root))
        waiting: list[tuple[Any, str, Iterator[str]]] = [(root, "", iter(root))]
        count = 0
        while waiting:
            group, above, names = waiting[-1]
            short = next(names, None)
            if short is None:
                waiting.pop()
                continue
            count += 1
            if count > OBJECTS_MAX or len(waiting) > DEPTH_MAX:
                raise Refused(
                    f"{self._path} has more than {OBJECTS_MAX:,} objects, or groups more than "
                    f"{DEPTH_MAX} deep",
                    do="merge it apart, with h5copy",
                )
            name = f"{above}/{short}" if above else short
            found = self._object(group, short, name)
            yield name, found
            if found.kind == GROUP_KIND:
                inner = group[short]
                waiting.append((inner, name, iter(inner)))

    def name_scales(self, objects: dict[str, ObjectFound]) -> None:
        """Which datasets are dimension scales of which: they can be told when all names are."""
        for name, one in objects.items():
            if one.dataset is None or not one.dataset.shape:
                continue
            made = self._file[name]
            if "DIMENSION_LIST" not in made.attrs:
                continue
            scales: list[tuple[int, str]] = []
            for axis in range(len(made.shape)):
                for scale in made.dims[axis].values():
                    known = self._seen.get(self._address(scale))
                    if known is None:
                        raise Refused(
                            f"{self._path}: {name} has a dimension scale that has no name itself",
                            do="give it a name, or detach it",
                        )
                    scales.append((axis, known))
            objects[name] = _with_scales(one, tuple(scales))

    def _object(self, group: Any, short: str, name: str) -> ObjectFound:
        h5py = storage.hdf5()
        link = group.get(short, getlink=True)
        if isinstance(link, h5py.SoftLink):
            return ObjectFound(SOFT, link.path)
        if isinstance(link, h5py.ExternalLink):
            return ObjectFound(EXTERNAL, link.path, in_file=link.filename)
        found = group[short]
        address = self._address(found)
        if address in self._seen:
            return ObjectFound(SAME, self._seen[address])
        self._seen[address] = name
        attributes = attributes_of(found)
        if isinstance(found, h5py.Group):
            return ObjectFound(GROUP_KIND, attributes=attributes)
        if isinstance(found, h5py.Datatype):
            return ObjectFound(TYPE, value_types.told(found.id), attributes)
        return ObjectFound(DATASET, "", attributes, _dataset(found, name, self._path))

    def _address(self, found: Any) -> Any:
        told = storage.hdf5().h5o.get_info(found.id)
        return told.fileno, told.addr


def _dataset(made: Any, name: str, path: Path) -> DatasetFound:
    h5py = storage.hdf5()
    how = made.id.get_create_plist()
    kind = made.id.get_type()
    extent = made.id.get_space().get_simple_extent_type()
    space = {h5py.h5s.SCALAR: "scalar", h5py.h5s.NULL: "nothing"}.get(extent, "rows")
    filters = tuple(how.get_filter(number)[:3] for number in range(how.get_nfilters()))
    _check_filters(filters, name, path)
    _check_elsewhere(made, how, name, path)
    variable, references = value_types.is_variable(kind), value_types.references_in(kind)
    if variable or references:
        _check_readable(made, name, path)
    is_plain = how.get_layout() == h5py.h5d.CONTIGUOUS and not how.get_external_count()
    return DatasetFound(
        space=space,
        shape=made.shape or (),
        maxshape=made.maxshape or (),
        chunks=made.chunks,
        filters=filters,
        kind=value_types.encoded(kind),
        kind_told=value_types.told(kind),
        item_bytes=kind.get_size(),
        is_variable=variable,
        references=references,
        offset=made.id.get_offset() if is_plain else None,
        stored_bytes=made.id.get_storage_size(),
        fill=_fill(made),
    )


def _fill(made: Any) -> str:
    try:
        return repr(made.fillvalue)
    except (TypeError, ValueError):  # of a type that NumPy does not have
        return ""


def _with_scales(one: ObjectFound, scales: tuple[tuple[int, str], ...]) -> ObjectFound:
    assert one.dataset is not None
    return replace(one, dataset=replace(one.dataset, scales=scales))


def _check_filters(filters: tuple[Any, ...], name: str, path: Path) -> None:
    h5z = storage.hdf5().h5z
    for code, _, _ in filters:
        can = h5z.get_filter_info(code) if h5z.filter_avail(code) else 0
        if not can & h5z.FILTER_CONFIG_DECODE_ENABLED or not can & h5z.FILTER_CONFIG_ENCODE_ENABLED:
            raise Refused(
                f"{path}: {name} is packed by filter {code}, which this HDF5 library does not have",
                do="pip install hdf5plugin has the usual ones",
            )


def _check_elsewhere(made: Any, how: Any, name: str, path: Path) -> None:
    """HDF5 itself shows fill values where the file of a virtual dataset is missing."""
    h5d = storage.hdf5().h5d
    files = [os.fsdecode(how.get_external(n)[0]) for n in range(how.get_external_count())]
    if how.get_layout() == h5d.VIRTUAL:
        files += [one.file_name for one in made.virtual_sources() if one.file_name != "."]
    for file in files:
        if "%" not in file and not (path.parent / file).exists():
            raise Damaged(f"{path}: {name} has its rows in {file}, which is missing",
                          do="bring it back")  # fmt: skip


def _check_readable(made: Any, name: str, path: Path) -> None:
    try:
        assert made.dtype is not None
    except TypeError as error:
        raise Refused(
            f"{path}: {name} is of a type that h5py does not read: {error}", do="merge it apart"
        ) from error

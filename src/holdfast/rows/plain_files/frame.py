"""The merged file of plain files before its large plain rows are in: all objects and links."""

import contextlib
from collections import defaultdict
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np

from holdfast.rows import storage
from holdfast.rows.dtypes import to_spec
from holdfast.rows.errors import Refused, RowsError
from holdfast.rows.merge_fill import not_as_written
from holdfast.rows.merge_frame import CHECKS, SOURCES
from holdfast.rows.merge_steps import CHECK, Meter
from holdfast.rows.merge_work import Places
from holdfast.rows.plain_files import values
from holdfast.rows.plain_files.attributes import attributes_of, copy_attribute
from holdfast.rows.plain_files.open_files import OpenFiles
from holdfast.rows.plain_files.packing import copied_chunks, create_dataset, write_tasks
from holdfast.rows.plain_files.plan import (
    TASK_SUFFIX,
    FilesPlan,
    FileStep,
    FileTarget,
    PlannedObject,
)
from holdfast.rows.plain_files.references import sum_of_references, translated
from holdfast.rows.plain_files.survey import DATASET, EXTERNAL, GROUP_KIND, SAME, SOFT, TYPE
from holdfast.rows.publishing import private_path, publish
from holdfast.rows.schema import Dataset
from holdfast.rows.segment import GROUP, write_json
from holdfast.rows.sums import SUM_OF_NOTHING, Sum

FORMAT: Final = "holdfast-merged-files/1"
UNITS: Final = "units"
# Whose rows lie where: file, by its number among the sources, and rows of the merged dataset.
UNIT: Final = np.dtype([("dataset", "<u4"), ("file", "<u4"), ("first_row", "<u8"), ("rows", "<u8")])


def make_files_frame(path: Path, plan: FilesPlan, meter: Meter) -> Places:
    """Makes the file in one go: killed before its end, it is made anew."""
    with private_path(path) as private:
        libver = "v110" if plan.needs_new_format else None
        order = plan.surveys[0].keeps_order or None
        with (
            OpenFiles(plan.sources) as files,
            storage.create(private, libver=libver, track_order=order) as file,
        ):
            frame = _Frame(plan, files, file, meter)
            frame.write_objects()
            frame.write_ties()
            checks_at = frame.write_own()
        _read_again(private, plan, frame.checksums)
        publish(private, path)
    return Places(frame.places, checks_at)


class _Frame:
    """One merged file that is being made."""

    def __init__(self, plan: FilesPlan, files: OpenFiles, file: Any, meter: Meter) -> None:
        self.places: dict[int, int] = {}
        self.checksums: dict[int, int] = {}
        self._plan = plan
        self._files = files
        self._file = file
        self._meter = meter
        self._steps: dict[int, list[FileStep]] = defaultdict(list)
        for step in plan.steps:
            self._steps[step.target.number].append(step)

    def write_objects(self) -> None:
        """Groups, types, datasets and links, in the order of the first file that has them."""
        acts = {GROUP_KIND: self._group, TYPE: self._type, DATASET: self._dataset,
                SAME: self._hard, SOFT: self._soft, EXTERNAL: self._external}  # fmt: skip
        for planned in self._plan.objects:
            if planned.name:
                with self._as_it_is(planned):
                    acts[planned.kind](planned)
        for target in self._plan.targets:
            if target.has_tasks:
                write_tasks(self._file, target, self._plan.sources)
        for planned in self._plan.objects:
            if planned.kind == SAME and f"{planned.leads_to}{TASK_SUFFIX}" in self._file:
                self._file[planned.name + TASK_SUFFIX] = self._file[planned.leads_to + TASK_SUFFIX]

    def write_ties(self) -> None:
        """Attributes, and what leads from one object to another, when all of them are there."""
        for planned in self._plan.objects:
            with self._as_it_is(planned):
                self._write_attributes(planned)
        # A scale that has not its attributes yet would be given others.
        for planned in self._plan.objects:
            target = planned.target
            with self._as_it_is(planned):
                if target is not None and target.found.references:
                    self._write_references(target, self._files[planned.file])
                if target is not None and target.found.scales:
                    self._attach_scales(planned, target)

    def write_own(self) -> int:
        """The group that is ours; returns where the table of checksums begins."""
        plan, group = self._plan, self._file.create_group(GROUP)
        group.attrs["format"] = FORMAT
        group.attrs["layout"] = plan.layout
        told = [{"file": str(one.path), "task": one.task} for one in plan.sources]
        write_json(group, SOURCES, told)
        write_json(group, "datasets", [target.name for target in plan.targets])
        units = [
            (target.number, unit.file, unit.first, unit.rows)
            for target in plan.targets
            for unit in target.units
        ]
        group.create_dataset(UNITS, data=np.array(units, dtype=UNIT), track_times=False)
        self._write_apart(group)
        table = np.zeros(len(plan.steps), dtype=CHECK)
        for step in plan.steps:
            xxh3 = self.checksums.get(step.number, 0 if step.nbytes else SUM_OF_NOTHING)
            table[step.number] = (step.target.number, xxh3, step.first, step.rows)
        at = storage.create_plain(group, Dataset(0, CHECKS, to_spec(CHECK)), len(table))
        if len(table):
            storage.write_plain(self._file.id.get_vfd_handle(), at, [table])
        return at

    @contextlib.contextmanager
    def _as_it_is(self, planned: PlannedObject) -> Iterator[None]:
        """What HDF5 refuses, with the name of the object: errors of the disk are others."""
        try:
            yield
        except (ValueError, TypeError, KeyError) as error:
            raise Refused(
                f"{planned.source_name or '/'} of {self._plan.sources[planned.file].path} cannot "
                f"be written as it is: {error}",
                do="leave it out of the files, or merge them apart",
            ) from error

    def _write_attributes(self, planned: PlannedObject) -> None:
        for key, file in planned.attributes:
            source = self._files[file]
            rename = partial(self._plan.name_of, file)
            copy_attribute(
                source[planned.source_name or "/"], key, self._file[planned.name or "/"],
                partial(translated, source=source, target=self._file, rename=rename),
            )  # fmt: skip

    def _write_apart(self, group: Any) -> None:
        """Attributes in which files differ, of each file."""
        for planned in self._plan.objects:
            for key, file in planned.apart:
                name = "/".join(
                    filter(None, ("attributes", self._plan.sources[file].task, planned.source_name))
                )
                here = group.require_group(name)
                copy_attribute(
                    self._files[file][planned.source_name or "/"], key, here, lambda found: found
                )

    def _group(self, planned: PlannedObject) -> None:
        h5py = storage.hdf5()
        found = self._files[planned.file][planned.source_name or "/"].id.get_create_plist()
        how = h5py.h5p.create(h5py.h5p.GROUP_CREATE)
        how.set_link_creation_order(found.get_link_creation_order())
        how.set_attr_creation_order(found.get_attr_creation_order())
        how.set_obj_track_times(False)
        h5py.h5g.create(self._file.id, planned.name.encode(), gcpl=how)

    def _type(self, planned: PlannedObject) -> None:
        kind = self._files[planned.file][planned.source_name].id.copy()
        kind.commit(self._file.id, planned.name.encode())

    def _hard(self, planned: PlannedObject) -> None:
        self._file[planned.name] = self._file[planned.leads_to]

    def _soft(self, planned: PlannedObject) -> None:
        self._file[planned.name] = storage.hdf5().SoftLink(planned.leads_to)

    def _external(self, planned: PlannedObject) -> None:
        link = storage.hdf5().ExternalLink(planned.in_file, planned.leads_to)
        self._file[planned.name] = link

    def _dataset(self, planned: PlannedObject) -> None:
        target = planned.target
        assert target is not None
        made = create_dataset(self._file, target, self._files)
        if not target.is_packed:
            self.places[target.number] = made.id.get_offset() or 0
        elif not target.found.references:
            self._fill(made, target)

    def _fill(self, made: Any, target: FileTarget) -> None:
        copied = {
            unit.file
            for unit in target.units
            if copied_chunks(self._files[unit.file], made, target, unit)
        }
        for step in self._steps[target.number]:
            xxh3 = Sum()
            first = step.first - step.unit.first
            for selection, rows in self._files.blocks(
                step.unit.file, target.source_name, first, step.rows
            ):
                values.add(xxh3, rows)
                if step.unit.file not in copied:
                    values.write(made, selection, rows, first=step.unit.first)
            self.checksums[step.number] = xxh3.intdigest()
            self._meter.add(step.nbytes)
        # A chunk that finds no room when the dataset is closed is gone, and h5py says nothing.
        made.flush()

    def _write_references(self, target: FileTarget, source: Any) -> None:
        for step in self._steps[target.number]:
            rename = partial(self._plan.name_of, step.unit.file)
            found = source[target.source_name]
            made = self._file[target.name]
            old = np.empty(found.shape, dtype=found.dtype)
            h5s = storage.hdf5().h5s
            found.id.read(h5s.ALL, h5s.ALL, old)
            made.id.write(h5s.ALL, h5s.ALL, translated(old, source, self._file, rename))
            self.checksums[step.number] = sum_of_references(found, rename)

    def _attach_scales(self, planned: PlannedObject, target: FileTarget) -> None:
        made = self._file[target.name]
        for axis, scale in target.found.scales:
            made.dims[axis].attach_scale(self._file[self._plan.name_of(planned.file, scale)])


def sum_of_step(made: Any, first: int, rows: int, *, is_references: bool) -> int:
    if is_references:
        return sum_of_references(made, lambda name: name)
    return values.sum_of_rows(made, first, rows)


def _read_again(path: Path, plan: FilesPlan, checksums: dict[int, int]) -> None:
    """All that is not copied later is compared now, with what the sources had."""
    last: tuple[int, Any] | None = None
    with storage.open_finished(path) as file:
        _check_attributes(file, plan)
        for step in plan.steps:
            if step.number not in checksums:
                continue
            if last is None or last[0] != step.target.number:
                last = (step.target.number, values.opened(file, step.target.name))
            is_references = bool(step.target.found.references)
            xxh3 = sum_of_step(last[1], step.first, step.rows, is_references=is_references)
            if xxh3 != checksums[step.number]:
                raise RowsError(
                    f"{step.target.name} does not read back as it was in "
                    f"{plan.sources[step.unit.file].path}",
                    do="if its filter is not exact, use --layout group; else look at the disk and "
                    "the memory of this host",
                )


def _check_attributes(file: Any, plan: FilesPlan) -> None:
    for planned in plan.objects:
        if not planned.attributes:
            continue
        found = attributes_of(file[planned.name or "/"])
        for key, number in planned.attributes:
            said = plan.surveys[number].objects[planned.source_name].attributes[key]
            if not said.references and found[key].xxh3 != said.xxh3:
                raise not_as_written(Path(file.filename), f"attribute {key} of {planned.name}")

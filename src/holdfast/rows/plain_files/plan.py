"""What a merged file of plain HDF5 files will have, and where each row of it comes from."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any, Final

from holdfast.rows.merge_steps import STEP_BYTES as ROWS_BYTES
from holdfast.rows.merge_steps import TEXT_STEP_ROWS
from holdfast.rows.plain_files.attributes import DENSE_FROM_BYTES
from holdfast.rows.plain_files.sources import SourceFile
from holdfast.rows.plain_files.survey import DatasetFound, FileSurvey

TASK_SUFFIX: Final = ".task"
STEP_BYTES = ROWS_BYTES
SMALL_BYTES = 1 << 20  # written with the frame: a step of its own would cost more
_METADATA_BYTES: Final = 1 << 20
_OBJECT_BYTES: Final = 4096


@dataclass(frozen=True)
class FileUnit:
    """The rows that one file gives to one dataset."""

    file: int
    first: int
    rows: int
    found: DatasetFound


@dataclass(frozen=True)
class FileTarget:
    """One dataset of the merged file."""

    number: int
    name: str
    source_name: str
    shape: tuple[int, ...]
    maxshape: tuple[int | None, ...]
    units: tuple[FileUnit, ...]
    has_tasks: bool  # a column beside it says whose rows they are

    @property
    def found(self) -> DatasetFound:
        """As the first file has it: type, chunks, filters, fill value."""
        return self.units[0].found

    @property
    def rows(self) -> int:
        return sum(unit.rows for unit in self.units)

    @property
    def row_bytes(self) -> int:
        return self.found.item_bytes * prod(self.found.row_shape)

    @property
    def is_packed(self) -> bool:
        found = self.found
        if found.is_variable or found.references or found.chunks is not None:
            return True
        return self.rows * self.row_bytes < SMALL_BYTES


@dataclass(frozen=True)
class FileStep:
    """Rows `first` to `first + rows` of a target, all of one file."""

    number: int
    target: FileTarget
    unit: FileUnit
    first: int
    rows: int

    @property
    def nbytes(self) -> int:
        return self.rows * self.target.row_bytes

    @property
    def is_packed(self) -> bool:
        return self.target.is_packed


@dataclass(frozen=True)
class PlannedObject:
    """One name of the merged file; `file` and `source_name` say where it is to be seen first."""

    name: str
    kind: str
    file: int
    source_name: str
    attributes: tuple[tuple[str, int], ...] = ()  # and of which file
    apart: tuple[tuple[str, int], ...] = ()  # where files differ: all of them
    leads_to: str = ""
    in_file: str = ""
    target: FileTarget | None = None


@dataclass(frozen=True)
class FilesPlan:
    """Everything that decides about the merged file."""

    layout: str
    surveys: tuple[FileSurvey, ...]
    objects: tuple[PlannedObject, ...]
    notes: tuple[str, ...]

    @cached_property
    def sources(self) -> list[SourceFile]:
        return [survey.source for survey in self.surveys]

    @cached_property
    def targets(self) -> list[FileTarget]:
        return [one.target for one in self.objects if one.target is not None]

    @cached_property
    def steps(self) -> list[FileStep]:
        return list(_steps(self.targets))

    @property
    def nbytes(self) -> int:
        return sum(step.nbytes for step in self.steps)

    @property
    def needed_bytes(self) -> int:
        """What the files have, and what is unpacked or beside it."""
        more = sum(
            max(0, unit.found.nbytes - unit.found.stored_bytes)
            for target in self.targets
            if not target.found.filters
            for unit in target.units
        )
        files = sum(source.nbytes for source in self.sources)
        return files + more + _OBJECT_BYTES * len(self.objects) + _METADATA_BYTES

    @property
    def needs_new_format(self) -> bool:
        return any(
            attribute.nbytes >= DENSE_FROM_BYTES
            for survey in self.surveys
            for one in survey.objects.values()
            for attribute in one.attributes.values()
        )

    @property
    def rows(self) -> dict[str, int]:
        return {target.name: target.rows for target in self.targets}

    def name_of(self, file: int, name: str) -> str:
        """What an object of a file is called in the merged one."""
        if self.layout == "append":
            return name
        task = self.surveys[file].source.task
        return f"{task}/{name}" if name else task

    def to_json(self) -> dict[str, Any]:
        return {
            "rows": self.rows,
            "nbytes": self.nbytes,
            "segments": [str(source.path) for source in self.sources],
            "files": [str(source.path) for source in self.sources],
            "tasks": [source.task for source in self.sources],
            "known": [source.to_json() for source in self.sources],
            "open_logs": [],
            "parts": [],
        }


def _steps(targets: Sequence[FileTarget]) -> Iterator[FileStep]:
    number = 0
    for target in targets:
        for unit in target.units:
            at_once = _rows_at_once(target, unit)
            for first in range(0, unit.rows, at_once):
                rows = min(at_once, unit.rows - first)
                yield FileStep(number, target, unit, unit.first + first, rows)
                number += 1


def _rows_at_once(target: FileTarget, unit: FileUnit) -> int:
    """Whole chunks of the source: none is unpacked twice."""
    if target.found.references:
        return max(1, unit.rows)
    rows = max(1, STEP_BYTES // max(1, target.row_bytes))
    if target.found.is_variable:
        rows = min(rows, TEXT_STEP_ROWS)
    chunk = unit.found.chunks[0] if unit.found.chunks else 1
    return max(chunk, rows - rows % chunk)

"""Plain HDF5 files as a kind of source of a merge: planned, framed, filled and checked."""

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from holdfast.rows import storage
from holdfast.rows.errors import Damaged, RowsError
from holdfast.rows.merge_fill import copy_bytes, not_as_written, opened
from holdfast.rows.merge_steps import Meter
from holdfast.rows.merge_work import Merged, Places
from holdfast.rows.plain_files import values
from holdfast.rows.plain_files.fitting import plan_files
from holdfast.rows.plain_files.frame import make_files_frame
from holdfast.rows.plain_files.open_files import OpenFiles
from holdfast.rows.plain_files.plan import FilesPlan, FileStep
from holdfast.rows.plain_files.sources import (
    SourceFile,
    as_source,
    files_of,
    rescue_it,
    task_names,
)
from holdfast.rows.plain_files.survey import FileSurvey, survey_file
from holdfast.rows.sums import Sum

__all__ = ["FilesKind", "FilesWork", "files_of"]

_PIECE_BYTES = 8 << 20


@dataclass(frozen=True)
class FilesKind:
    """Files in the order of their tasks, and how their rows are put together."""

    paths: tuple[Path, ...]
    layout: str
    output: Path
    skip_damaged: bool

    def asked(self) -> dict[str, Any]:
        return {
            "layout": self.layout,
            "asked_files": [str(path) for path in self.paths],
            "skip_damaged": self.skip_damaged,
        }

    def begin(self, folder: Path) -> "FilesWork":
        storage.load_filters()
        surveys: list[FileSurvey] = []
        left_out: list[str] = []
        for path, task in zip(self.paths, task_names(self.paths), strict=True):
            try:
                source = as_source(path, task)
                surveys.append(survey_file(source, with_rows=self.skip_damaged))
            except Damaged as error:
                if not self.skip_damaged:
                    raise
                left_out.append(error.message)
        if not surveys:
            raise RowsError("no file is left that could be merged", do="see holdfast rescue")
        return self._work(surveys, left_out)

    def again(self, told: dict[str, Any]) -> "FilesWork | None":
        storage.load_filters()
        try:
            sources = [
                SourceFile(Path(path), task, nbytes, mtime_ns)
                for path, task, nbytes, mtime_ns in told["known"]
            ]
            for source in sources:
                source.check_unchanged()
            surveys = [survey_file(source, with_rows=False) for source in sources]
            work = self._work(surveys, list(told["left_out"]))
        except (RowsError, KeyError, TypeError, ValueError):
            return None
        mine = work.to_json()
        return (
            work if json.loads(json.dumps(mine)) == {key: told.get(key) for key in mine} else None
        )

    def _work(self, surveys: Sequence[FileSurvey], left_out: list[str]) -> "FilesWork":
        plan = plan_files(surveys, layout=self.layout, output=self.output)
        return FilesWork(plan, tuple(left_out))


@dataclass(frozen=True)
class FilesWork:
    """A plan, and what it is done with."""

    plan: FilesPlan
    left_out: tuple[str, ...]

    @property
    def nbytes(self) -> int:
        return self.plan.nbytes

    @property
    def needed_bytes(self) -> int:
        return self.plan.needed_bytes

    @property
    def steps(self) -> list[FileStep]:
        return self.plan.steps

    def make_frame(self, path: Path, meter: Meter) -> Places:
        return make_files_frame(path, self.plan, meter)

    def copies(self, places: Places) -> "FileCopies":
        return FileCopies(self.plan, places)

    def check(self, path: Path) -> None:
        """All datasets have their shape, and no source was changed meanwhile."""
        with storage.open_finished(path) as file:
            for target in self.plan.targets:
                found = file[target.name].shape
                if (found or ()) != target.shape:
                    raise Damaged(
                        f"{path}: {target.name} has shape {found}", do="merge with --fresh"
                    )
        for source in self.plan.sources:
            source.check_unchanged()

    def to_json(self) -> dict[str, Any]:
        told = self.plan.to_json()
        return told | {"left_out": list(self.left_out), "waiting": list(self.plan.notes)}

    def merged(self, output: Path, *, is_resumed: bool) -> Merged:
        return Merged(
            output=output,
            rows=self.plan.rows,
            nbytes=self.plan.nbytes,
            parts=len(self.plan.sources),
            is_resumed=is_resumed,
            files=tuple(str(source.path) for source in self.plan.sources),
            tasks=tuple(source.task for source in self.plan.sources),
            left_out=self.left_out,
            notes=self.plan.notes,
        )


class FileCopies:
    """Plain rows: by the kernel where they lie as they are, else through HDF5."""

    def __init__(self, plan: FilesPlan, places: Places) -> None:
        self._plan = plan
        self._places = places
        self._files = OpenFiles(plan.sources)

    def place_of(self, step: FileStep) -> int:
        return self._places.rows[step.target.number] + step.first * step.target.row_bytes

    def copy(self, fd: int, step: FileStep) -> int:
        path, at = self._plan.sources[step.unit.file].path, self.place_of(step)
        first = step.first - step.unit.first
        offset = step.unit.found.offset
        if offset is not None:
            start = offset + first * step.target.row_bytes
            xxh3 = _sum_of_bytes(path, start, step.nbytes)
            copy_bytes(path, start, step.nbytes, fd, at)
            return xxh3
        summed = Sum()
        for _, rows in self._files.blocks(
            step.unit.file, step.target.source_name, first, step.rows
        ):
            values.add(summed, rows)
            storage.write_all(fd, storage.bytes_of(rows), at)
            at += rows.nbytes
        return summed.intdigest()

    def why(self, path: Path, step: FileStep) -> RowsError:
        """A source that was changed meanwhile says so; else the disk did not keep it."""
        try:
            self._plan.sources[step.unit.file].check_unchanged()
        except RowsError as error:
            return error
        return not_as_written(path, step.target.name)


def _sum_of_bytes(path: Path, offset: int, nbytes: int) -> int:
    xxh3 = Sum()
    with opened(path, os.O_RDONLY) as fd:
        while nbytes:
            piece = os.pread(fd, min(nbytes, _PIECE_BYTES), offset)
            if not piece:
                raise Damaged(f"{path} is cut", do=rescue_it(path))
            xxh3.update(piece)
            nbytes, offset = nbytes - len(piece), offset + len(piece)
    return xxh3.intdigest()

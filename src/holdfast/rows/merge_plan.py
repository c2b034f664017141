"""Which rows go where in a merged file: decided before the first byte is written."""

import hashlib
import itertools
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from holdfast.rows import storage
from holdfast.rows.errors import Damaged, Refused
from holdfast.rows.schema import Dataset
from holdfast.rows.segment import Segment, Stored


@dataclass(frozen=True)
class Unit:
    """The rows that one segment gives to one dataset."""

    segment: Segment
    stored: Stored


@dataclass(frozen=True)
class Target:
    """One dataset of the merged file, and where its rows come from, by task."""

    dataset: Dataset
    units: tuple[Unit, ...]

    @cached_property
    def starts(self) -> npt.NDArray[np.int64]:
        """The first row of each unit, by task; behind them, the number of all rows."""
        counts = [unit.stored.rows for unit in self.units]
        return np.concatenate(([0], np.cumsum(counts, dtype=np.int64)))

    @property
    def rows(self) -> int:
        return int(self.starts[-1])

    @property
    def is_packed(self) -> bool:
        return storage.is_packed(self.dataset)

    @property
    def nbytes(self) -> int:
        return self.rows * self.dataset.row_bytes


@dataclass(frozen=True)
class Plan:
    """What will be in the merged file; the same plan gives the same bytes."""

    order: str
    segments: tuple[Segment, ...]
    targets: tuple[Target, ...]
    notes: tuple[str, ...] = ()

    @property
    def nbytes(self) -> int:
        return sum(target.nbytes for target in self.targets)

    @cached_property
    def fingerprint(self) -> str:
        """Another if anything that decides about the result is."""
        digest = hashlib.sha256(self.order.encode())
        for segment in self.segments:
            digest.update(f"{segment.task}.{segment.incarnation}.{segment.number}\n".encode())
            for one in segment.datasets:
                digest.update(f"{one.dataset} {one.first_row} {one.rows} {one.xxh3}\n".encode())
        return digest.hexdigest()


def plan_merge(segments: Sequence[Segment], *, order: str, may_have_gaps: bool = False) -> Plan:
    """Segments in the order of tasks; Refused or Damaged if they do not fit together."""
    gaps = list(missing_rows(segments))
    if gaps and not may_have_gaps:
        raise Damaged(
            "; ".join(gaps[:3]),
            do="bring the missing files back, or merge what there is with --skip-damaged",
        )
    units: dict[str, list[Unit]] = defaultdict(list)
    for segment in segments:
        for stored in segment.datasets:
            units[stored.dataset.name].append(Unit(segment, stored))
    _check_no_dataset_is_a_group(units)
    notes: list[str] = list(gaps)
    targets: list[Target] = []
    for number, name in enumerate(sorted(units)):
        _check_alike(units[name])
        notes += _attribute_notes(units[name])
        filled = tuple(unit for unit in units[name] if unit.stored.rows)
        targets.append(Target(_dataset_of(number, units[name]), filled))
    return Plan(order, tuple(segments), tuple(targets), tuple(notes))


def missing_rows(segments: Iterable[Segment]) -> Iterable[str]:
    """What should lie between the segments of a source, and does not."""
    rows: dict[tuple[str, int, str], int] = {}
    for segment in segments:
        for stored in segment.datasets:
            if not stored.rows:
                continue
            key = (segment.task, segment.incarnation, stored.dataset.name)
            expected = rows.get(key, 0)
            if stored.first_row != expected:
                yield (
                    f"{segment.path}: {stored.dataset.name} of {segment.task} goes on with row "
                    f"{stored.first_row:,}, not {expected:,}"
                )
            rows[key] = stored.first_row + stored.rows


def _dataset_of(number: int, units: list[Unit]) -> Dataset:
    """As the first task has it; compressed if any of them compresses it."""
    all_of = [unit.stored.dataset for unit in units]
    how = next(filter(storage.is_packed, all_of), all_of[0])
    return replace(how, id=number, attrs=all_of[0].attrs)


def _check_alike(units: list[Unit]) -> None:
    first = units[0]
    for unit in units:
        mine, other = unit.stored.dataset, first.stored.dataset
        if not mine.is_like(other):
            raise Refused(
                f"{mine.name} has rows of {_shape(mine)} in {unit.segment.task}, "
                f"but of {_shape(other)} in {first.segment.task}",
                do="merge them apart: the rows of one dataset must be alike",
            )


def _shape(dataset: Dataset) -> str:
    shape = " x ".join(map(str, dataset.row_shape))
    return f"{shape} {dataset.dtype}" if shape else f"{dataset.dtype}"


def _check_no_dataset_is_a_group(names: dict[str, list[Unit]]) -> None:
    for name in names:
        parts = name.split("/")
        for count in range(1, len(parts)):
            above = "/".join(parts[:count])
            if above in names:
                raise Refused(
                    f"{above} is a dataset in {names[above][0].segment.task}, and a group with "
                    f"{name} in {names[name][0].segment.task}",
                    do="merge them apart",
                )


def _attribute_notes(units: list[Unit]) -> list[str]:
    """Where tasks disagree about an attribute, the first one is kept."""
    kept: dict[str, Any] = units[0].stored.dataset.attrs
    other = {
        key
        for unit in units
        for key, value in unit.stored.dataset.attrs.items()
        if kept.get(key) != value
    }
    name = units[0].stored.dataset.name
    return [
        f"{name}: tasks differ in attribute {key}; that of {units[0].segment.task} is kept"
        for key in itertools.islice(sorted(other), _NOTED_MAX)
    ]


_NOTED_MAX = 10

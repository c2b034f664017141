"""The steps of a merge: each fills some rows of one dataset, and has a checksum of its own."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Final

import numpy as np

from holdfast.rows.merge_plan import Plan, Target
from holdfast.rows.schema import Dataset

Progress = Callable[[int, int], None]
STEP_BYTES: Final = 32 << 20
TEXT_STEP_ROWS: Final = 1 << 16
# What the merged file says of itself, step by step: `holdfast rows verify` reads it.
CHECK: Final = np.dtype(
    [("dataset", "<u4"), ("xxh3", "<u8"), ("first_row", "<u8"), ("rows", "<u8")]
)
CHECK_XXH3_AT: Final = 4


@dataclass(frozen=True, slots=True)
class Step:
    """Rows `first` to `first + rows` of a target; all of them from one unit, or from any."""

    number: int
    target: Target
    first: int
    rows: int
    unit: int | None

    @property
    def nbytes(self) -> int:
        return self.rows * self.target.dataset.row_bytes

    @property
    def is_packed(self) -> bool:
        return self.target.is_packed


def steps_of(plan: Plan, ordered: Collection[str]) -> list[Step]:
    """All steps. Where rows stay in the order of tasks, one for each unit."""
    steps: list[Step] = []
    for target in plan.targets:
        if target.dataset.name in ordered:
            at_once = _rows_at_once(target.dataset)
            for first in range(0, target.rows, at_once):
                rows = min(at_once, target.rows - first)
                steps.append(Step(len(steps), target, first, rows, None))
            continue
        for number, unit in enumerate(target.units):
            first = int(target.starts[number])
            steps.append(Step(len(steps), target, first, unit.stored.rows, number))
    return steps


def _rows_at_once(dataset: Dataset) -> int:
    return TEXT_STEP_ROWS if dataset.is_text else max(1, STEP_BYTES // dataset.row_bytes)


class Meter:
    """Counts the bytes that are done, and tells."""

    def __init__(self, total: int, progress: Progress | None) -> None:
        self._total = total
        self._done = 0
        self._progress = progress

    def add(self, nbytes: int) -> None:
        self._done += nbytes
        if self._progress is not None:
            self._progress(self._done, self._total)

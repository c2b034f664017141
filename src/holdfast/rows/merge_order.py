"""In which order rows go into a merged file: by task, by time, or by the values of a column."""

from collections import defaultdict
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from holdfast.rows import storage
from holdfast.rows.errors import Damaged, Refused
from holdfast.rows.merge_plan import Plan, Target
from holdfast.rows.segment import blocks_of

BY_TASK: Final = "task"
BY_TIME: Final = "time"
# The order of one dataset is kept in memory: 16 bytes for each run of rows that stay together,
# twice that while it is made.
RUNS_MAX: Final = 1 << 26

Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Order:
    """Runs of rows that stay together, in the order of the merged file.

    Rows are numbered by task: the rows of the first unit, then those of the second, ...
    """

    starts: Numbers
    ends: Numbers  # in the merged file: the first row behind each run

    def rows(self, first: int, behind: int) -> Numbers:
        """Which rows, by task, lie at these places of the merged file."""
        low = int(np.searchsorted(self.ends, first, side="right"))
        high = int(np.searchsorted(self.ends, behind - 1, side="right")) + 1
        ends = self.ends[low:high]
        begins = np.concatenate(([self.ends[low - 1] if low else 0], ends[:-1]))
        shift = self.starts[low:high] - begins
        counts = np.minimum(ends, behind) - np.maximum(begins, first)
        return np.arange(first, behind, dtype=np.int64) + np.repeat(shift, counts)


def orders(plan: Plan) -> tuple[dict[str, Order], list[str]]:
    """How to order which datasets, and what to say of those that stay in the order of tasks."""
    if plan.order == BY_TASK:
        return {}, []
    if plan.order == BY_TIME:
        return _by_time(plan), []
    return _by_column(plan, plan.order)


def _by_time(plan: Plan) -> dict[str, Order]:
    """By the time at which a batch was appended, as its host's clock told it."""
    times: dict[str, list[Any]] = defaultdict(list)
    counts: dict[str, list[Any]] = defaultdict(list)
    for segment in plan.segments:
        table = blocks_of(segment.path)
        for stored in segment.datasets:
            mine = table[table["dataset"] == stored.dataset.id]
            if int(mine["rows"].sum(dtype=np.uint64)) != stored.rows:
                raise Damaged(
                    f"{segment.path}: its blocks of {stored.dataset.name} are not all of its rows",
                    do="merge with --order task",
                )
            times[stored.dataset.name].append(mine["time_ns"])
            counts[stored.dataset.name].append(mine["rows"].astype(np.int64))
    found: dict[str, Order] = {}
    for target in plan.targets:
        name = target.dataset.name
        when = np.concatenate(times[name])
        _check_runs(len(when), "batches", name)
        rows = np.concatenate(counts[name])
        starts = np.cumsum(rows) - rows
        by_time = np.argsort(when, kind="stable")
        found[name] = _order(starts[by_time], rows[by_time])
    return found


def _by_column(plan: Plan, column: str) -> tuple[dict[str, Order], list[str]]:
    """By the values of one dataset: it and its neighbours in the same group."""
    targets = {target.dataset.name: target for target in plan.targets}
    key = targets.get(column)
    if key is None:
        raise Refused(
            f"there is no dataset {column!r:.80} to order by",
            do=f"use task, time, or one of {', '.join(list(targets)[:10])}",
        )
    if key.dataset.row_shape or key.dataset.numpy is None or key.dataset.numpy.kind not in "biuf":
        raise Refused(
            f"{column} is not one number for each row", do="order by a dataset of plain numbers"
        )
    _check_runs(key.rows, "rows", column)
    values = np.concatenate([_column(key, number) for number in range(len(key.units))] or [[]])
    by_value = np.argsort(values, kind="stable").astype(np.int64)
    del values
    order = _order(by_value, np.ones(len(by_value), dtype=np.int64))
    group = column.rpartition("/")[0]
    per_source = _rows_per_source(key)
    found: dict[str, Order] = {}
    notes: list[str] = []
    for name, target in targets.items():
        if name.rpartition("/")[0] == group and _rows_per_source(target) == per_source:
            found[name] = order
        else:
            why = "another group" if name.rpartition("/")[0] != group else "other numbers of rows"
            notes.append(f"{name} is in the order of tasks: it is of {why} than {column}")
    return found, notes


def _column(key: Target, number: int) -> Any:
    unit = key.units[number]
    with storage.open_finished(unit.segment.path) as file:
        return file[key.dataset.name][()]


def _rows_per_source(target: Target) -> dict[tuple[str, int], int]:
    rows: dict[tuple[str, int], int] = defaultdict(int)
    for unit in target.units:
        rows[unit.segment.task, unit.segment.incarnation] += unit.stored.rows
    return rows


def _order(starts: Numbers, rows: Numbers) -> Order:
    """Runs that follow each other anyway become one."""
    if not len(starts):
        return Order(starts, rows)
    breaks = np.flatnonzero(starts[1:] != starts[:-1] + rows[:-1]) + 1
    ends = np.cumsum(rows)
    last = np.concatenate((breaks - 1, [len(rows) - 1]))
    return Order(starts[np.concatenate(([0], breaks))], ends[last])


def _check_runs(count: int, of_what: str, name: str) -> None:
    if count > RUNS_MAX:
        raise Refused(
            f"{name} has {count:,} {of_what}; at most {RUNS_MAX:,} can be ordered",
            do="merge with --order task, or fewer tasks at a time",
        )

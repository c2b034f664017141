"""Merges the rows of a log directory: segments, and snapshots of logs."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from holdfast.rows import storage
from holdfast.rows.errors import Damaged, RowsError
from holdfast.rows.merge_fill import copy_bytes, not_as_written, sum_of_unit
from holdfast.rows.merge_frame import make_frame
from holdfast.rows.merge_order import Order, orders
from holdfast.rows.merge_plan import Plan, plan_merge
from holdfast.rows.merge_rows import UnitRows, differs
from holdfast.rows.merge_sources import Taken, retaken, take
from holdfast.rows.merge_steps import Meter, Step, steps_of
from holdfast.rows.merge_work import Merged, Places

_METADATA_BYTES = 1 << 20


@dataclass(frozen=True)
class SegmentsKind:
    """All rows of one log directory."""

    logdir: Path
    order: str
    skip_damaged: bool

    def asked(self) -> dict[str, Any]:
        return {"order": self.order, "logdir": str(self.logdir), "skip_damaged": self.skip_damaged}

    def begin(self, folder: Path) -> "SegmentsWork":
        taken = take(self.logdir, folder, skip_damaged=self.skip_damaged)
        plan = plan_merge(taken.segments, order=self.order, may_have_gaps=bool(taken.left_out))
        return SegmentsWork(taken, plan)

    def again(self, told: dict[str, Any]) -> "SegmentsWork | None":
        found = retaken(told)
        return SegmentsWork(*found) if found else None


@dataclass(frozen=True)
class SegmentsWork:
    """What was taken from the log directory, and where it goes."""

    taken: Taken
    plan: Plan

    @property
    def nbytes(self) -> int:
        return self.plan.nbytes

    @property
    def needed_bytes(self) -> int:
        return self.plan.nbytes + _METADATA_BYTES

    @cached_property
    def _orders(self) -> tuple[dict[str, Order], list[str]]:
        return orders(self.plan)

    @cached_property
    def steps(self) -> list[Step]:
        return steps_of(self.plan, self._orders[0])

    def make_frame(self, path: Path, meter: Meter) -> Places:
        return make_frame(path, self.plan, self.steps, self._orders[0], meter)

    def copies(self, places: Places) -> "UnitCopies":
        ordered = self._orders[0]
        for target in self.plan.targets:
            if target.dataset.name in ordered and not target.is_packed:
                for unit in target.units:
                    if sum_of_unit(unit) != unit.stored.xxh3:
                        raise differs(unit)
        return UnitCopies(places, ordered)

    def check(self, path: Path) -> None:
        """Plain HDF5, and all that was planned."""
        with storage.open_finished(path) as file:
            for target in self.plan.targets:
                found = file[target.dataset.name].shape
                if found != (target.rows, *target.dataset.row_shape):
                    raise Damaged(
                        f"{path}: {target.dataset.name} has shape {found}", do="merge with --fresh"
                    )

    def to_json(self) -> dict[str, Any]:
        return self.taken.to_json(self.plan)

    def merged(self, output: Path, *, is_resumed: bool) -> Merged:
        return Merged(
            output=output,
            rows={target.dataset.name: target.rows for target in self.plan.targets},
            nbytes=self.plan.nbytes,
            parts=len(self.plan.segments),
            is_resumed=is_resumed,
            open_logs=tuple(self.taken.open_logs),
            left_out=tuple(self.taken.left_out),
            notes=(*self.plan.notes, *self.taken.waiting, *self._orders[1]),
            taken=frozenset(self.taken.parts),
        )


class UnitCopies:
    """Plain rows of segments: whole units by the kernel, or row by row in another order."""

    def __init__(self, places: Places, ordered: dict[str, Order]) -> None:
        self._places = places
        self._orders = ordered
        self._rows: tuple[int, UnitRows] | None = None

    def place_of(self, step: Step) -> int:
        dataset = step.target.dataset
        return self._places.rows[dataset.id] + step.first * dataset.row_bytes

    def copy(self, fd: int, step: Step) -> int:
        target, at = step.target, self.place_of(step)
        if step.unit is not None:
            stored, path = target.units[step.unit].stored, target.units[step.unit].segment.path
            copy_bytes(path, stored.offset, stored.nbytes, fd, at)
            return stored.xxh3
        if self._rows is None or self._rows[0] != target.dataset.id:
            self._rows = (target.dataset.id, UnitRows(target))
        order = self._orders[target.dataset.name]
        rows = self._rows[1].take(order.rows(step.first, step.first + step.rows))
        return storage.write_plain(fd, at, [rows])

    def why(self, path: Path, step: Step) -> RowsError:
        """Which of the two is wrong: what was read, or what was written."""
        if step.unit is not None:
            unit = step.target.units[step.unit]
            if sum_of_unit(unit) != unit.stored.xxh3:
                return differs(unit)
        return not_as_written(path, step.target.dataset.name)

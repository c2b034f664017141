"""Merges all rows of a log directory into one plain HDF5 file: exact, resumable, whole or not."""

import contextlib
import errno
import mmap
import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np

from holdfast.rows import layout, storage
from holdfast.rows.errors import Damaged, Refused, RowsError, Unwritable, unwritable
from holdfast.rows.merge_fill import Filling, opened, sum_at, sum_of_unit
from holdfast.rows.merge_frame import Places, make_frame
from holdfast.rows.merge_journal import Journal, Mark
from holdfast.rows.merge_order import Order, orders
from holdfast.rows.merge_plan import Plan, plan_merge
from holdfast.rows.merge_rows import differs
from holdfast.rows.merge_sources import Taken, retaken, take, taken_parts
from holdfast.rows.merge_steps import CHECK, Meter, Progress, Step, steps_of
from holdfast.rows.publishing import publish, publish_new
from holdfast.rows.reading import parts, sources

_PARTIAL: Final = "partial.h5"
_METADATA_BYTES: Final = 1 << 20
_WENT_ON: Final = "went on with an earlier try: rows that came after its start are not in it"


@dataclass(frozen=True)
class Merged:
    """What is in the new file, and what is worth a word."""

    output: Path
    rows: dict[str, int]
    nbytes: int
    parts: int
    is_resumed: bool = False
    open_logs: tuple[str, ...] = ()  # still being written: what they had when the merge began
    left_out: tuple[str, ...] = ()  # damaged, and so not in it
    notes: tuple[str, ...] = ()
    taken: frozenset[tuple[str, int]] = frozenset()  # folder and number of each part
    removed: tuple[str, ...] = ()


def merge(
    logdir: str | os.PathLike[str],
    output: str | os.PathLike[str],
    *,
    order: str = "task",
    force: bool = False,
    fresh: bool = False,
    skip_damaged: bool = False,
    remove_sources: bool = False,
    progress: Progress | None = None,
) -> Merged:
    """Writes all rows of LOGDIR into one new HDF5 file, which appears when it is whole.

    order: "task", "time" (of appending), or the name of a dataset of numbers, by whose values
    the datasets of its group are sorted. Killed at any point and called again, it goes on where
    it was, with the rows that were there when it began; fresh=True begins anew.
    """
    target = Path(os.path.abspath(output))  # noqa: PTH100 - no symlink is followed
    place = Path(os.path.abspath(logdir))  # noqa: PTH100
    _check_output(target, force=force)
    try:
        with Journal(target) as journal, _distrusting_the_disk(journal):
            merging = _Merging(place, target, journal, order)
            if _was_published(target, journal) and not force and not fresh:
                made = merging.finished()
            else:
                made = merging.run(
                    fresh=fresh, skip_damaged=skip_damaged, force=force, progress=progress
                )
            journal.remove()
    except OSError as error:
        raise unwritable(target, error, do="make room, then merge again: it goes on") from error
    return replace(made, removed=_remove_sources(place, made)) if remove_sources else made


@contextlib.contextmanager
def _distrusting_the_disk(journal: Journal) -> Iterator[None]:
    """After an I/O error nobody knows what of the work so far is on disk: it begins anew."""
    try:
        yield
    except OSError as error:
        if error.errno == errno.EIO:
            journal.restart()
        raise


class _Merging:
    """One merge, from what is there to the file that appears."""

    def __init__(self, logdir: Path, target: Path, journal: Journal, order: str) -> None:
        self._logdir = logdir
        self._target = target
        self._journal = journal
        self._order = order
        self._partial = journal.folder / _PARTIAL

    def finished(self) -> Merged:
        """An earlier try was killed when only the tidying up was left."""
        told = self._journal.past.plan or {}
        return Merged(
            output=self._target,
            rows=told["rows"],
            nbytes=told["nbytes"],
            parts=len(told["segments"]),
            is_resumed=True,
            open_logs=tuple(told["open_logs"]),
            left_out=tuple(told["left_out"]),
            notes=(*told["waiting"], "an earlier try had made it already"),
            taken=taken_parts(told),
        )

    def run(
        self, *, fresh: bool, skip_damaged: bool, force: bool, progress: Progress | None
    ) -> Merged:
        begun = None if fresh else self._resumed(skip_damaged=skip_damaged)
        taken, plan = begun or self._begun(skip_damaged=skip_damaged)
        if self._target.exists() and not force:
            raise _exists(self._target)
        ordered, unordered = orders(plan)
        steps = steps_of(plan, ordered)
        meter = Meter(plan.nbytes, progress)
        places = self._framed(plan, steps, ordered, meter)
        self._fill(plan, steps, ordered, places, meter)
        _check_counts(self._partial, plan)
        self._journal.publishing(Mark.of(self._partial, places.checks, _bytes(steps)))
        try:
            (publish if force else publish_new)(self._partial, self._target)
        except FileExistsError:
            raise _exists(self._target) from None
        more = [*unordered, _WENT_ON] if begun else unordered
        return self._told(taken, plan, more, is_resumed=begun is not None)

    def _told(self, taken: Taken, plan: Plan, more: list[str], *, is_resumed: bool) -> Merged:
        return Merged(
            output=self._target,
            rows={target.dataset.name: target.rows for target in plan.targets},
            nbytes=plan.nbytes,
            parts=len(plan.segments),
            is_resumed=is_resumed,
            open_logs=tuple(taken.open_logs),
            left_out=tuple(taken.left_out),
            notes=(*plan.notes, *taken.waiting, *more),
            taken=frozenset(taken.parts),
        )

    def _resumed(self, *, skip_damaged: bool) -> tuple[Taken, Plan] | None:
        """What an earlier try began, if the same is asked for now."""
        told = self._journal.past.plan
        if told is None or told.get("order") != self._order:
            return None
        if told.get("logdir") != str(self._logdir) or told.get("skip_damaged") != skip_damaged:
            return None
        if self._journal.past.places is not None and not self._partial.exists():
            return None
        return retaken(told)

    def _begun(self, *, skip_damaged: bool) -> tuple[Taken, Plan]:
        self._journal.restart()
        try:
            return self._planned(skip_damaged=skip_damaged)
        except RowsError:
            self._journal.remove()
            raise

    def _planned(self, *, skip_damaged: bool) -> tuple[Taken, Plan]:
        taken = take(self._logdir, self._journal.folder, skip_damaged=skip_damaged)
        plan = plan_merge(taken.segments, order=self._order, may_have_gaps=bool(taken.left_out))
        free = shutil.disk_usage(self._target.parent).free
        needed = plan.nbytes + _METADATA_BYTES
        if needed > free:
            raise Unwritable(
                f"{self._target} may need {needed:,} bytes, and {free:,} are free",
                do="make room, or choose another place",
            )
        told = taken.to_json(plan) | {"logdir": str(self._logdir), "skip_damaged": skip_damaged}
        self._journal.plan(told)
        return taken, plan

    def _framed(
        self, plan: Plan, steps: list[Step], ordered: Mapping[str, Order], meter: Meter
    ) -> Places:
        past = self._journal.past
        if past.places is not None and self._partial.exists():
            meter.add(sum(step.nbytes for step in steps if step.target.is_packed))
            return Places.from_json(past.places)
        places = make_frame(self._partial, plan, steps, ordered, meter)
        self._journal.framed(places.to_json())
        return places

    def _fill(
        self, plan: Plan, steps: list[Step], ordered: Mapping[str, Order], places: Places,
        meter: Meter,
    ) -> None:  # fmt: skip
        for target in plan.targets:
            if target.dataset.name in ordered and not target.is_packed:
                for unit in target.units:
                    if sum_of_unit(unit) != unit.stored.xxh3:
                        raise differs(unit)
        plain = [step for step in steps if not step.target.is_packed]
        past = self._journal.past
        done = past.done if past.places is not None else 0
        if done and not past.is_of_this_boot:
            done = _still_good(self._partial, plain, places, done)
        meter.add(sum(step.nbytes for step in plain if step.number < done))
        filling = Filling(self._partial, places, ordered, self._journal, meter)
        filling.fill([step for step in plain if step.number >= done and step.rows])


def _still_good(path: Path, steps: list[Step], places: Places, done: int) -> int:
    """After a power cut, what was noted as done may not have reached the disk."""
    with opened(path, os.O_RDONLY) as fd, mmap.mmap(fd, 0, access=mmap.ACCESS_READ) as view:
        table = np.frombuffer(view[places.checks : places.checks + _bytes(steps)], dtype=CHECK)
        for step in steps:
            if step.number >= done:
                break
            xxh3 = sum_at(view, places.rows[step.target.dataset.id], step)
            if xxh3 != int(table[step.number]["xxh3"]):
                return step.number
    return done


def _bytes(steps: list[Step]) -> int:
    return (steps[-1].number + 1) * CHECK.itemsize if steps else 0


def _check_counts(path: Path, plan: Plan) -> None:
    """The last look before it appears: plain HDF5, and all that was planned."""
    with storage.open_finished(path) as file:
        for target in plan.targets:
            found = file[target.dataset.name].shape
            if found != (target.rows, *target.dataset.row_shape):
                raise Damaged(
                    f"{path}: {target.dataset.name} has shape {found}", do="merge with --fresh"
                )


def _check_output(target: Path, *, force: bool) -> None:
    if not target.parent.is_dir():
        raise Refused(f"there is no folder {target.parent}", do="make it, or choose another")
    if target.is_dir():
        raise Refused(f"{target} is a folder", do="name a file")
    if target.exists() and not force:
        journal = Journal(target)
        if not journal.folder.exists():
            raise _exists(target)
        with journal:
            if not _was_published(target, journal):
                if journal.past.plan is None:  # killed when only the folder itself was left
                    journal.remove()
                raise _exists(target)


def _was_published(target: Path, journal: Journal) -> bool:
    """Whether an earlier try was killed when only the tidying up was left."""
    mark = journal.past.published
    if mark is None or not target.exists():
        return False
    return Mark.of(target, mark.at, mark.nbytes) == mark


def _exists(target: Path) -> Refused:
    return Refused(
        f"{target} exists already", do="choose another output, or replace it with --force"
    )


def _remove_sources(logdir: Path, made: Merged) -> tuple[str, ...]:
    """Removes parts of sources that are over and whole in the merged file; folders stay.

    A folder's number is never used again. Central segments say what was taken over: they stay.
    """
    removed: list[str] = []
    for source in sources(logdir):
        found = parts(source)
        names = {(source.folder.name, part.number) for part in found}
        if names <= made.taken and all(part.is_over for part in found):
            for part in found:
                part.path.with_name(layout.log_name(part.number)).unlink(missing_ok=True)
                part.path.unlink(missing_ok=True)
                removed.append(str(part.path))
    return tuple(removed)

"""Puts what is in many plain files together, or says in which they differ."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from holdfast.rows import storage
from holdfast.rows.errors import Refused
from holdfast.rows.plain_files import value_types
from holdfast.rows.plain_files.formats import check_appendable, indexes_of_pytables
from holdfast.rows.plain_files.plan import (
    TASK_SUFFIX,
    FilesPlan,
    FileTarget,
    FileUnit,
    PlannedObject,
)
from holdfast.rows.plain_files.survey import DATASET, EXTERNAL, SAME, SOFT, FileSurvey, ObjectFound
from holdfast.rows.plain_files.values import opened, sum_of_rows

_SHOWN_MAX = 5
_APART = {
    "append": "merge them apart, or with --layout group",
    "group": "leave it out of the files, or merge them apart",
}
Having = list[tuple[int, ObjectFound]]  # files that have an object of this name


def plan_files(surveys: Sequence[FileSurvey], *, layout: str, output: Path) -> FilesPlan:
    """Refused with all that differs, before anything is written."""
    tasks = [survey.source.task for survey in surveys]
    if layout == "group":
        fits = [
            _Fitting(surveys, [number], f"{task}/", output) for number, task in enumerate(tasks)
        ]
    else:
        check_appendable(surveys)
        fits = [_Fitting(surveys, range(len(surveys)), "", output)]
    objects: list[PlannedObject] = []
    for fit in fits:
        objects += fit.planned(first_number=sum(one.target is not None for one in objects))
    wrong = [line for fit in fits for line in fit.wrong]
    if wrong:
        more = f"; and {len(wrong) - _SHOWN_MAX:,} more" if len(wrong) > _SHOWN_MAX else ""
        raise Refused("; ".join(wrong[:_SHOWN_MAX]) + more, do=_APART[layout])
    notes = [note for fit in fits for note in fit.notes]
    return FilesPlan(layout, tuple(surveys), tuple(objects), tuple(notes))


class _Fitting:
    """Objects of some files under the same names: all files, or one of them in its own group."""

    def __init__(
        self, surveys: Sequence[FileSurvey], files: Sequence[int], prefix: str, output: Path
    ) -> None:
        self._surveys = surveys
        self._files = files
        self._prefix = prefix  # of names in the merged file
        self._output = output
        self._stacks = not prefix
        self.wrong: list[str] = []
        self.notes: list[str] = []
        self._having = self._by_name()
        self._once = self._kept_once() if self._stacks else set()

    def planned(self, first_number: int) -> list[PlannedObject]:
        planned: list[PlannedObject] = []
        number = first_number
        for name, having in self._having.items():
            if not self._same_kind(name, having):
                continue
            target = None
            if having[0][1].kind == SAME and self._stacks:
                self._check_column(name)
            if having[0][1].kind == DATASET:
                target = self._target(number, name, having)
                if target is None:
                    continue
                number += 1
            planned.append(self._object(name, having, target))
        return planned

    def _by_name(self) -> dict[str, Having]:
        found: dict[str, Having] = {}
        for number in self._files:
            survey = self._surveys[number]
            left_out = indexes_of_pytables(survey) if self._stacks else []
            for name in left_out:
                note = f"{name}, an index of PyTables, is left out: it would be wrong; make it anew"
                if note not in self.notes:
                    self.notes.append(note)
            for name, one in survey.objects.items():
                if not any(name == out or name.startswith(f"{out}/") for out in left_out):
                    found.setdefault(name, []).append((number, one))
        return found

    def _task(self, number: int) -> str:
        return self._surveys[number].source.path.name

    def _differ(self, name: str, having: Having, say: Callable[[ObjectFound], str]) -> bool:
        """Whether files say different things; noted with both."""
        first_number, first = having[0]
        for number, one in having[1:]:
            if say(one) != say(first):
                self.wrong.append(
                    f"{name or '/'} is {say(first)} in {self._task(first_number)}, "
                    f"but {say(one)} in {self._task(number)}"
                )
                return True
        return False

    def _same_kind(self, name: str, having: Having) -> bool:
        if self._differ(name, having, lambda one: f"a {one.kind}"):
            return False
        return not self._differ(name, having, self._leads_to)

    def _leads_to(self, one: ObjectFound) -> str:
        where = f" of {one.in_file}" if one.kind == EXTERNAL else ""
        return f"a {one.kind} to {one.leads_to}{where}" if one.leads_to else f"a {one.kind}"

    def _target(self, number: int, name: str, having: Having) -> FileTarget | None:
        datasets = [(file, one.dataset) for file, one in having if one.dataset is not None]
        first = datasets[0][1]
        if not self._alike(name, having):
            return None
        if name in self._once:
            shape, maxshape = first.shape, first.maxshape
            units = [FileUnit(datasets[0][0], 0, first.rows, first)]
            return FileTarget(number, name, name, shape, maxshape, tuple(units), has_tasks=False)
        units, rows = [], 0
        for file, one in datasets:
            units.append(FileUnit(file, rows, one.rows, one))
            rows += one.rows
        if not self._stacks or first.space == "nothing":
            return FileTarget(
                number, self._prefix + name, name, first.shape, first.maxshape, tuple(units[:1]),
                has_tasks=False,
            )  # fmt: skip
        self._check_column(name)
        self._note_uneven(name, datasets)
        most = [one.maxshape[0] if one.maxshape else 1 for _, one in datasets]
        behind = None if first.maxshape[:1] == (None,) else max(rows, sum(m or 0 for m in most))
        return FileTarget(
            number, name, name, (rows, *first.row_shape),
            (behind if first.chunks else rows, *first.maxshape[1:]), tuple(units), has_tasks=True,
        )  # fmt: skip

    def _check_column(self, name: str) -> None:
        """The name of the column that says whose rows they are must be free."""
        taken = self._having.get(name + TASK_SUFFIX)
        if taken:
            self.wrong.append(
                f"{name}{TASK_SUFFIX} is in {self._task(taken[0][0])} already, and is to say whose "
                f"rows {name} has"
            )

    def _note_uneven(self, name: str, datasets: list[Any]) -> None:
        if len(datasets) < len(self._files):
            self.notes.append(f"{name} is in {len(datasets)} of {len(self._files)} files")
        if len({one.filters for _, one in datasets}) > 1:
            self.notes.append(
                f"{name}: files differ in compression or filters; those of "
                f"{self._task(datasets[0][0])} are taken"
            )
        if len({one.fill for _, one in datasets}) > 1:
            self.notes.append(
                f"{name}: files differ in the fill value; that of {self._task(datasets[0][0])} "
                "is taken"
            )

    def _alike(self, name: str, having: Having) -> bool:
        first = having[0][1].dataset
        assert first is not None
        if self._stacks and first.references:
            self.wrong.append(
                f"{name} of {self._task(having[0][0])} has {first.references}, which cannot be "
                "appended"
            )
            return False
        if first.references == value_types.OTHER_REFERENCES:
            self.wrong.append(
                f"{name} of {self._task(having[0][0])} has {first.references} its values, which "
                "cannot be kept"
            )
            return False
        if len(having) == 1:
            return True
        for say in (_kind, _whole if name in self._once else _row, _scales):
            if self._differ(name, having, say):
                return False
        for number, one in having[1:]:
            assert one.dataset is not None
            if not value_types.are_alike(first.kind, one.dataset.kind):
                self.wrong.append(
                    f"{name} is {first.kind_told} in {self._task(having[0][0])}, and stored in "
                    f"another way in {self._task(number)}"
                )
                return False
        return name not in self._once or self._same_content(name, having)

    def _same_content(self, name: str, having: Having) -> bool:
        sums: dict[int, int] = {}
        for number, one in having:
            assert one.dataset is not None
            with storage.open_finished(self._surveys[number].source.path) as file:
                sums[number] = sum_of_rows(opened(file, name), 0, one.dataset.rows)
        first = having[0][0]
        other = next((number for number in sums if sums[number] != sums[first]), None)
        if other is None:
            return True
        self.wrong.append(
            f"{name} goes with an axis that is not the first, and has other values in "
            f"{self._task(other)} than in {self._task(first)}"
        )
        return False

    def _kept_once(self) -> set[str]:
        """Scales of further axes, and what has such a scale at its first axis: appended, they
        would not fit the axis any more."""
        scales = [
            (name, axis, scale)
            for name, having in self._having.items()
            for _, one in having
            if one.dataset is not None
            for axis, scale in one.dataset.scales
        ]
        fixed = {scale for _, axis, scale in scales if axis}
        return fixed | {name for name, axis, scale in scales if not axis and scale in fixed}

    def _object(self, name: str, having: Having, target: FileTarget | None) -> PlannedObject:
        number, first = having[0]
        attributes, apart = self._attributes(name, having)
        leads_to, in_file = first.leads_to, first.in_file
        if self._prefix and (first.kind == SAME or leads_to.startswith("/")) and not in_file:
            leads_to = f"/{self._prefix}{leads_to.lstrip('/')}"
        if first.kind == SAME:
            leads_to = f"/{leads_to.lstrip('/')}"
        if first.kind == EXTERNAL and not Path(in_file).is_absolute():
            place = self._surveys[number].source.path.parent / in_file
            in_file = os.path.relpath(place, self._output.parent)
        return PlannedObject(
            name=(self._prefix + name).rstrip("/"),
            kind=first.kind,
            file=number,
            source_name=name,
            attributes=attributes,
            apart=apart,
            leads_to=leads_to if first.kind in (SAME, SOFT, EXTERNAL) else "",
            in_file=in_file,
            target=target,
        )

    def _attributes(
        self, name: str, having: Having
    ) -> tuple[tuple[tuple[str, int], ...], tuple[tuple[str, int], ...]]:
        kept: dict[str, int] = {}
        apart: list[tuple[str, int]] = []
        for number, one in having:
            for key, attribute in one.attributes.items():
                kept.setdefault(key, number)
                if attribute.references and (
                    self._stacks or attribute.references == value_types.OTHER_REFERENCES
                ):
                    self.wrong.append(
                        f"attribute {key} of {name or '/'} in {self._task(number)} has "
                        f"{attribute.references}, which cannot be kept"
                    )
        for key, number in kept.items():
            said = {other: one.attributes.get(key) for other, one in having}
            if len({one.xxh3 if one else None for one in said.values()}) > 1:
                apart += [(key, other) for other, one in said.items() if one]
                self.notes.append(_conflict(name, key, number, said, self._task))
        return tuple(kept.items()), tuple(apart)


def _kind(one: ObjectFound) -> str:
    assert one.dataset is not None
    return one.dataset.kind_told


def _whole(one: ObjectFound) -> str:
    assert one.dataset is not None
    return f"of shape {one.dataset.shape}"


def _row(one: ObjectFound) -> str:
    """What the files must agree in, to be appended."""
    assert one.dataset is not None
    if one.dataset.space != "rows":
        return "one value" if one.dataset.space == "scalar" else "without any value"
    return f"of shape {('n', *one.dataset.row_shape)}".replace("'", "")


def _scales(one: ObjectFound) -> str:
    assert one.dataset is not None
    found = [f"{scale} at axis {axis}" for axis, scale in one.dataset.scales]
    return f"with the dimension scales {', '.join(found) or 'none'}"


def _conflict(
    name: str, key: str, number: int, said: dict[int, Any], task: Callable[[int], str]
) -> str:
    mine = said[number]
    other, its = next(
        (other, its) for other, its in said.items() if (its and its.xxh3) != mine.xxh3
    )
    return (
        f"{name or '/'}: attribute {key} is {mine.text} in {task(number)}, "
        f"{its.text if its else 'missing'} in {task(other)}; the first is kept, all are in "
        "_holdfast/attributes"
    )

"""The merged file before its plain rows are in: all metadata, all space, text, compressed rows."""

from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np

from holdfast.rows import merge_rows, storage
from holdfast.rows.dtypes import to_spec
from holdfast.rows.errors import RowsError
from holdfast.rows.merge_order import Order
from holdfast.rows.merge_plan import Plan, Target, Unit
from holdfast.rows.merge_rows import Takes, UnpackedRows, UnpackedText, differs
from holdfast.rows.merge_steps import CHECK, Meter, Step
from holdfast.rows.merge_work import Places
from holdfast.rows.publishing import private_path, publish
from holdfast.rows.schema import Dataset
from holdfast.rows.segment import GROUP, chunks_of, write_json
from holdfast.rows.sums import Sum

FORMAT: Final = "holdfast-merged/1"
CHECKS: Final = "checks"
SOURCES: Final = "sources"


def make_frame(
    path: Path, plan: Plan, steps: list[Step], orders: Mapping[str, Order], meter: Meter
) -> Places:
    """Makes the file in one go: killed before its end, it is made anew."""
    with private_path(path) as private:
        packed = _Packed(path.parent, orders, meter)
        places: dict[int, int] = {}
        mine: dict[int, list[Step]] = defaultdict(list)
        for step in steps:
            mine[step.target.dataset.id].append(step)
        with storage.create(private) as file:
            for target in plan.targets:
                if target.is_packed:
                    packed.fill(file, target, mine[target.dataset.id])
                else:
                    places[target.dataset.id] = storage.create_plain(
                        file, target.dataset, target.rows
                    )
            group = file.create_group(GROUP)
            group.attrs["format"] = FORMAT
            group.attrs["order"] = plan.order
            _write_sources(group, plan)
            table = np.zeros(len(steps), dtype=CHECK)
            for step in steps:
                xxh3 = packed.checksums.get(step.number, 0)
                table[step.number] = (step.target.dataset.id, xxh3, step.first, step.rows)
            at = storage.create_plain(group, Dataset(0, CHECKS, to_spec(CHECK)), len(steps))
            if len(steps):
                storage.write_plain(file.id.get_vfd_handle(), at, [table])
        packed.read_again(private)
        publish(private, path)
    return Places(places, at)


def _write_sources(group: Any, plan: Plan) -> None:
    """Who gave which rows: with these, a row can be traced to its task and its number there."""
    told = [
        {
            "task": segment.task,
            "incarnation": segment.incarnation,
            "number": segment.number,
            "rows": {
                stored.dataset.name: [stored.first_row, stored.rows]
                for stored in segment.datasets
                if stored.rows
            },
        }
        for segment in plan.segments
    ]
    write_json(group, SOURCES, told)
    write_json(group, "datasets", [target.dataset.to_json() for target in plan.targets])


class _Packed:
    """Fills datasets of text and of compressed chunks."""

    def __init__(self, folder: Path, orders: Mapping[str, Order], meter: Meter) -> None:
        self.checksums: dict[int, int] = {}
        self._folder = folder
        self._orders = orders
        self._meter = meter
        self._to_read: list[Step] = []

    def fill(self, file: Any, target: Target, steps: list[Step]) -> None:
        appending = storage.create_packed(file, target.dataset, target.rows)
        order = self._orders.get(target.dataset.name)
        if order is None:
            for step in steps:
                self._copy(appending, step)
                self._meter.add(step.nbytes)
        else:
            unpack = UnpackedText if target.dataset.is_text else UnpackedRows
            source: Takes = unpack(target, self._folder)
            for step in steps:
                rows = source.take(order.rows(step.first, step.first + step.rows))
                xxh3 = Sum()
                storage.adds(target.dataset)(xxh3, rows)
                self.checksums[step.number] = xxh3.intdigest()
                self._to_read.append(step)
                appending.append(rows)
                self._meter.add(step.nbytes)
        appending.finish()

    def _copy(self, appending: storage.Appending, step: Step) -> None:
        unit = step.target.units[step.unit or 0]
        self.checksums[step.number] = unit.stored.xxh3
        is_last = step.first + step.rows == step.target.rows
        if not _copy_chunks(appending, unit, is_last=is_last):
            self._to_read.append(step)
            for rows in merge_rows.unpacked(unit):
                appending.append(rows)

    def read_again(self, path: Path) -> None:
        """Reads back what was packed anew; chunks that were copied have been compared already."""
        with storage.open_finished(path) as file:
            for step in self._to_read:
                dataset = step.target.dataset
                xxh3 = sum_of_packed(file[dataset.name], dataset, step.first, step.rows)
                if xxh3 != self.checksums[step.number]:
                    raise RowsError(
                        f"{path}: {dataset.name} does not read back as it was written",
                        do="look at the disk and the memory of this host, then merge again",
                    )


def sum_of_packed(made: Any, dataset: Dataset, first: int, rows: int) -> int:
    """The checksum of some rows of text or of compressed rows."""
    add, xxh3 = storage.adds(dataset), Sum()
    view = made.asstr() if dataset.is_text else made
    at_once = storage.TEXT_ROWS if dataset.is_text else max(
        storage.chunk_rows_of(dataset), storage.WRITE_BYTES // dataset.row_bytes
    )  # fmt: skip
    for start in range(first, first + rows, at_once):
        add(xxh3, np.asarray(view[start : min(start + at_once, first + rows)]))
    return xxh3.intdigest()


def _copy_chunks(appending: storage.Appending, unit: Unit, *, is_last: bool) -> bool:
    """Copies chunks as they are, if they fit; whether they did."""
    stored, path = unit.stored, unit.segment.path
    if stored.dataset.is_text or stored.packed_xxh3 is None:
        return False
    if not is_last and stored.rows % appending.chunk_rows:
        return False
    with storage.open_finished(path) as file, merge_rows.reading(path, stored.dataset.name):
        made = file[stored.dataset.name]
        if made.chunks != appending.made.chunks or _filters(made) != _filters(appending.made):
            return False
        if not appending.is_at_a_chunk:
            return False
        first, packed = appending.rows, Sum()
        for mask, chunk in chunks_of(made):
            packed.update(chunk)
            rows = min(appending.chunk_rows, stored.rows - (appending.rows - first))
            appending.copy_chunk(chunk, mask, rows)
    if packed.intdigest() != stored.packed_xxh3:
        raise differs(unit)
    if packed.intdigest() != _sum_of_chunks(appending.made, first, appending.rows):
        raise RowsError(
            f"{appending.made.file.filename}: {stored.dataset.name} does not read back as it was "
            "written",
            do="look at the disk and the memory of this host, then merge again",
        )
    return True


def _sum_of_chunks(made: Any, first: int, behind: int) -> int:
    packed = Sum()
    rest = (0,) * (len(made.shape) - 1)
    for row in range(first, behind, made.chunks[0]):
        packed.update(made.id.read_direct_chunk((row, *rest))[1])
    return packed.intdigest()


def _filters(made: Any) -> list[Any]:
    how = made.id.get_create_plist()
    return [how.get_filter(number)[:3] for number in range(how.get_nfilters())]

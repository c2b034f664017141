"""Datasets as tables: those of one group that go together, and their rows in pieces."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from holdfast.rows.blocks import Block
from holdfast.rows.errors import Damaged, Refused, RowsError
from holdfast.rows.merge_sources import readable
from holdfast.rows.reading import LogContent, PartContent, Source, parts, read_part
from holdfast.rows.schema import Dataset
from holdfast.rows.sealing import check_tail

PIECE_BYTES_MAX = 16 << 20
PIECE_ROWS_MAX = 65_536
ROOT = "rows"

Rows = npt.NDArray[Any]


@dataclass(frozen=True)
class Table:
    """Datasets with the same number of rows in every source: row n of each belongs together."""

    name: str
    datasets: tuple[Dataset, ...]
    rows: tuple[tuple[Source, int], ...]

    @property
    def rows_at_once(self) -> int:
        """So that a piece of all columns together is bounded."""
        row_bytes = sum(dataset.row_bytes for dataset in self.datasets)
        return max(1, min(PIECE_ROWS_MAX, PIECE_BYTES_MAX // max(1, row_bytes)))


@dataclass(frozen=True)
class Piece:
    """Some rows of one source: one array for each dataset of the table."""

    source: Source
    first_row: int
    times_ns: npt.NDArray[np.uint64]
    columns: tuple[Rows, ...]


def tables(logdir: Path) -> list[Table]:
    """What there is now, by name. A dataset that does not fit the others of its group is alone."""
    counted = _counted(logdir)
    groups: dict[str, list[str]] = defaultdict(list)
    for name in sorted(counted):
        groups[name.rpartition("/")[0]].append(name)
    made: list[Table] = []
    for group, names in groups.items():
        lengths = {tuple(counted[name].rows.items()) for name in names}
        if len(lengths) == 1 and (group or len(names) > 1):
            made.append(_table(group or ROOT, [counted[name] for name in names]))
        else:
            made += [_table(name, [counted[name]]) for name in names]
    return sorted(made, key=lambda table: table.name)


def table_named(logdir: Path, name: str) -> Table:
    """The table of a group, or of one dataset."""
    counted = _counted(logdir)
    if name in counted:
        return _table(name, [counted[name]])
    for table in tables(logdir):
        if table.name == name:
            return table
    inside = [other for other in sorted(counted) if other.startswith(f"{name}/")]
    if inside:
        raise Refused(
            f'the datasets of group "{name}" have different numbers of rows',
            do=f"read them one by one: {', '.join(inside[:5])}",
        )
    known = ", ".join(sorted(counted)[:20]) or "none"
    raise RowsError(f'there is no dataset "{name:.80}" in {logdir}', do=f"there are: {known}")


def pieces(table: Table) -> Iterator[Piece]:
    """All rows, source after source, in bounded memory."""
    for source, rows in table.rows:
        step = table.rows_at_once
        columns = [read_dataset(source, one, rows, step) for one in table.datasets]
        first_row = 0
        for read in zip(*columns, strict=True):
            times = read[0][0]
            yield Piece(source, first_row, times, tuple(one[1] for one in read))
            first_row += len(times)


def read_dataset(
    source: Source, dataset: Dataset, rows: int, step: int
) -> Iterator[tuple[npt.NDArray[np.uint64], Rows]]:
    """The first `rows` rows of one dataset of one source, `step` at a time: times and values."""
    waiting: list[tuple[npt.NDArray[np.uint64], Rows]] = []
    count = 0
    for times, values in _read(source, dataset.name, rows, step):
        start = 0
        while start < len(values):
            taken = min(step - count, len(values) - start)
            waiting.append((times[start : start + taken], values[start : start + taken]))
            start += taken
            count += taken
            if count == step:
                yield _joined(waiting)
                waiting, count = [], 0
    if waiting:
        yield _joined(waiting)


def _read(
    source: Source, name: str, rows: int, step: int
) -> Iterator[tuple[npt.NDArray[np.uint64], Rows]]:
    for part in parts(source):
        with read_part(part) as content:
            for times, block in _large_blocks(content, name, step):
                taken = min(rows, block.rows)
                if taken:
                    yield times[:taken], content.rows_of(block)[:taken]
                rows -= taken
                if not rows:
                    return
    raise RowsError(f'rows of "{name}" of {source.task} went away', do="look who removed them")


def _large_blocks(
    content: PartContent, name: str, step: int
) -> Iterator[tuple[npt.NDArray[np.uint64], Block]]:
    """In a segment rows of many blocks lie together, and are read at once."""
    mine = [block for block in content.blocks if block.dataset.name == name]
    if isinstance(content, LogContent) or not mine:
        for block in mine:
            yield np.full(block.rows, block.time_ns, np.uint64), block
        return
    times = np.repeat(
        np.array([block.time_ns for block in mine], np.uint64), [block.rows for block in mine]
    )
    first = mine[0]
    for start in range(0, len(times), step):
        some = times[start : start + step]
        yield (
            some,
            replace(
                first,
                first_row=first.first_row + start,
                rows=len(some),
                offset=first.offset + start,
                nbytes=len(some) * first.dataset.row_bytes,
            ),
        )


def _joined(
    some: list[tuple[npt.NDArray[np.uint64], Rows]],
) -> tuple[npt.NDArray[np.uint64], Rows]:
    if len(some) == 1:
        return some[0]
    return np.concatenate([one[0] for one in some]), np.concatenate([one[1] for one in some])


@dataclass
class _Counted:
    dataset: Dataset
    rows: dict[Source, int]


def _counted(logdir: Path) -> dict[str, _Counted]:
    """Each dataset, and how many rows of it each source has."""
    found: dict[str, _Counted] = {}
    for source in readable(logdir):
        for part in parts(source):
            with read_part(part) as content:
                for dataset in content.datasets.values():
                    known = found.setdefault(dataset.name, _Counted(dataset, {}))
                    _check_alike(known.dataset, dataset, source)
                if content.tail is not None:
                    check_tail(part.path, content.tail)
                for block in content.blocks:
                    rows = found[block.dataset.name].rows
                    _check_follows(block, rows.get(source, 0), part.path)
                    rows[source] = block.first_row + block.rows
    if not found:
        raise RowsError(f"there are no rows in {logdir}", do="name the directory of rows.open()")
    return found


def _check_alike(known: Dataset, dataset: Dataset, source: Source) -> None:
    if not known.is_like(dataset):
        raise Refused(
            f'dataset "{dataset.name}" has rows of {dataset.dtype} {dataset.row_shape} in '
            f"{source.task}, but of {known.dtype} {known.row_shape} in another",
            do="read them apart, from a log directory each",
        )


def _check_follows(block: Block, expected: int, path: Path) -> None:
    if block.first_row != expected:
        raise Damaged(
            f'{path}: "{block.dataset.name}" goes on with row {block.first_row:,}, '
            f"not {expected:,}",
            do="bring the missing files back; holdfast merge --skip-damaged takes what there is",
        )


def _table(name: str, counted: list[_Counted]) -> Table:
    return Table(name, tuple(one.dataset for one in counted), tuple(counted[0].rows.items()))

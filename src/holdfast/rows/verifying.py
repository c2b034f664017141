"""Whether files of ours are as they were written: every row is read, every checksum compared."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from holdfast.rows import storage
from holdfast.rows.errors import Damaged, RowsError
from holdfast.rows.layout import CENTRAL, rows_folder
from holdfast.rows.merge_fill import sum_of_unit
from holdfast.rows.merge_frame import CHECKS, sum_of_packed
from holdfast.rows.merge_frame import FORMAT as MERGED
from holdfast.rows.merge_plan import Unit, missing_rows
from holdfast.rows.merge_rows import differs, reading, unpacked
from holdfast.rows.merge_steps import CHECK
from holdfast.rows.plain_files.frame import FORMAT as MERGED_FILES
from holdfast.rows.plain_files.verifying import verify_merged_files
from holdfast.rows.reading import Part, parts, read_part, source_in, sources
from holdfast.rows.schema import Dataset
from holdfast.rows.sealing import check_tail
from holdfast.rows.segment import GROUP, Segment, read_json, read_segment


@dataclass(frozen=True)
class Verified:
    """One part: what is wrong with it, if anything; what is worth a word, if anything."""

    path: Path
    rows: int
    wrong: str = ""
    note: str = ""


def verify(logdir: Path) -> Iterator[Verified]:
    """Every part of every source, one after the other; then those of the central writer."""
    central = rows_folder(logdir) / CENTRAL
    for source in [*sources(logdir), *([source_in(central)] if central.is_dir() else [])]:
        segments: list[Segment] = []
        for part in parts(source):
            yield _verified(part, segments)
        for gap in missing_rows(segments):
            yield Verified(source.folder, 0, wrong=gap)


def verify_segment(segment: Segment) -> int:
    """Reads all rows; Damaged if they are not those that were sealed. Returns how many."""
    for stored in segment.datasets:
        unit = Unit(segment, stored)
        if storage.is_packed(stored.dataset):
            for _ in unpacked(unit):
                pass
        elif stored.rows and sum_of_unit(unit) != stored.xxh3:
            raise differs(unit)
    return sum(stored.rows for stored in segment.datasets)


def verify_merged(path: Path) -> int:
    """The same of a merged file; it carries the checksums of its rows."""
    with storage.open_finished(path) as file, reading(path, "a dataset"):
        group = file.get(GROUP)
        if group is not None and group.attrs.get("format") == MERGED_FILES:
            return verify_merged_files(path, file)
        if group is None or group.attrs.get("format") != MERGED:
            raise RowsError(
                f"{path} is no file that holdfast merge has made",
                do="name such a file, or the log directory of rows.open()",
            )
        try:
            datasets = [Dataset.from_json(told) for told in read_json(group, "datasets")]
            table = group[CHECKS][()]
            return sum(_check(path, file, datasets[row["dataset"]], row) for row in table)
        except (KeyError, IndexError, TypeError, ValueError) as error:
            raise Damaged(f"{path} is damaged: {error}", do="merge again") from error


def _check(path: Path, file: Any, dataset: Dataset, row: Any) -> int:
    assert row.dtype == CHECK
    first, rows = int(row["first_row"]), int(row["rows"])
    if sum_of_packed(file[dataset.name], dataset, first, rows) != int(row["xxh3"]):
        raise Damaged(
            f"{path}: rows {first:,} to {first + rows:,} of {dataset.name} have changed since the "
            f"merge",
            do="merge again, or restore it from a copy",
        )
    return rows


def _verified(part: Part, segments: list[Segment]) -> Verified:
    try:
        if part.is_segment:
            segments.append(read_segment(part.path))
            return Verified(part.path, verify_segment(segments[-1]))
        with read_part(part) as content:
            rows = sum(block.rows for block in content.blocks)
            if content.tail is None:
                return Verified(part.path, rows)
            check_tail(part.path, content.tail)
            torn = content.tail.total_bytes - content.tail.good_bytes
            return Verified(part.path, rows, note=f"{torn:,} bytes at its end were cut short")
    except RowsError as error:
        return Verified(part.path, 0, wrong=error.message)

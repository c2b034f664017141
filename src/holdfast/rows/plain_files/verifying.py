"""Whether a merged file of plain files is as it was written: it carries the sums of its rows."""

from pathlib import Path
from typing import Any

from holdfast.rows import storage
from holdfast.rows.errors import Damaged
from holdfast.rows.merge_frame import CHECKS
from holdfast.rows.plain_files import value_types
from holdfast.rows.plain_files.frame import sum_of_step
from holdfast.rows.plain_files.values import opened
from holdfast.rows.segment import GROUP, read_json


def verify_merged_files(path: Path, file: Any) -> int:
    """Reads all rows, and returns how many; Damaged if they are not those that were merged."""
    storage.load_filters()
    rows = 0
    group = file[GROUP]
    try:
        names = read_json(group, "datasets")
        last: tuple[int, Any] | None = None
        for check in group[CHECKS][()]:
            number = int(check["dataset"])
            if last is None or last[0] != number:
                last = (number, opened(file, names[number]))
            made, first, count = last[1], int(check["first_row"]), int(check["rows"])
            is_references = bool(value_types.references_in(made.id.get_type()))
            if sum_of_step(made, first, count, is_references=is_references) != int(check["xxh3"]):
                raise Damaged(
                    f"{path}: rows {first:,} to {first + count - 1:,} of {names[number]} are not "
                    "those that were merged",
                    do="merge again",
                )
            rows += count
    except (OSError, KeyError, IndexError, TypeError, ValueError) as error:
        raise Damaged(f"{path} is damaged: {error}", do="merge again") from error
    return rows

"""A block: rows of one dataset that were appended together."""

from dataclasses import dataclass

from holdfast.rows.schema import Dataset


@dataclass(frozen=True, slots=True)
class Block:
    """`offset`: in a log, the byte where its payload begins; in a segment, the row."""

    dataset: Dataset
    first_row: int
    rows: int
    time_ns: int
    offset: int
    nbytes: int

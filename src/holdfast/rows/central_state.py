"""Up to where the central segments contain each source: each segment says it of all of them."""

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from holdfast.rows import segment, storage
from holdfast.rows.errors import Damaged, RowsError
from holdfast.rows.layout import (
    CENTRAL,
    part_number,
    read_source,
    rows_folder,
    segment_name,
    task_of_folder,
)
from holdfast.rows.schema import Dataset

STATE = "central"


@dataclass
class Position:
    """Of one source: everything before this place of this log is contained."""

    number: int
    folder: str
    log: int = 0
    offset: int = 0
    rows: dict[str, int] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        return {
            "number": self.number,
            "folder": self.folder,
            "log": self.log,
            "offset": self.offset,
            "rows": self.rows,
        }


@dataclass
class State:
    """What the segments up to `segment` contain together."""

    segment: int = 0
    positions: dict[str, Position] = field(default_factory=dict)
    datasets: dict[str, Dataset] = field(default_factory=dict)
    rows: dict[str, int] = field(default_factory=dict)

    def position(self, folder: str) -> Position:
        """Of this source; sources are numbered in the order in which they are first seen."""
        if folder not in self.positions:
            self.positions[folder] = Position(len(self.positions), folder)
        return self.positions[folder]

    def to_json(self) -> dict[str, Any]:
        return {
            "segment": self.segment,
            "sources": [position.to_json() for position in self.positions.values()],
            "datasets": [dataset.to_json() for dataset in self.datasets.values()],
            "rows": self.rows,
        }

    @classmethod
    def from_json(cls, found: Any) -> "State":
        made = cls(segment=int(found["segment"]))
        for number, item in enumerate(found["sources"]):
            folder = str(item["folder"])
            if item["number"] != number or task_of_folder(folder) is None:
                raise ValueError(f"source {number} is {folder!r:.80}")
            rows = {str(name): int(count) for name, count in item["rows"].items()}
            made.positions[folder] = Position(
                number, folder, log=int(item["log"]), offset=int(item["offset"]), rows=rows
            )
        for item in found["datasets"]:
            dataset = Dataset.from_json(item)
            made.datasets[dataset.name] = dataset
        made.rows = {str(name): int(count) for name, count in found["rows"].items()}
        return made


def central_folder(logdir: str | os.PathLike[str]) -> Path:
    return rows_folder(logdir) / CENTRAL


def segment_numbers(folder: Path) -> list[int]:
    """The segments that are published, in order."""
    try:
        found = [part_number(entry.name, ".h5") for entry in os.scandir(folder)]
    except FileNotFoundError:
        return []
    return sorted(number for number in found if number is not None)


def published(logdir: str | os.PathLike[str]) -> State:
    """What the newest segment says; an empty state before the first one."""
    folder = central_folder(logdir)
    numbers = segment_numbers(folder)
    return state_in(folder / segment_name(numbers[-1])) if numbers else State()


def state_in(path: Path) -> State:
    """The state that one segment carries."""
    with storage.open_finished(path) as file:
        try:
            return State.from_json(segment.read_json(file[segment.GROUP], STATE))
        except (OSError, KeyError, ValueError, TypeError, RecursionError, RowsError) as error:
            raise Damaged(
                f"{path} does not say up to where it contains each source: {error!s:.200}",
                do="holdfast rescue; the logs that are still there stay as they are",
            ) from error


def sources_of_central(folder: Path) -> Iterator[str]:
    """The folders below `rows` that belong to the central way."""
    for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
        if task_of_folder(entry.name) and read_source(Path(entry.path)).get("way") == CENTRAL:
            yield entry.name

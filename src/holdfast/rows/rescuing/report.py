"""What a rescue found: per dataset what was recovered, what is lost and why."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

WHOLE, PART, DOUBTFUL, LOST = "whole", "part", "doubtful", "lost"


@dataclass(frozen=True)
class LostRows:
    """Rows first..last, both included, and why they are not among the recovered ones."""

    first: int
    last: int
    why: str

    @property
    def rows(self) -> int:
        return self.last - self.first + 1


@dataclass(frozen=True)
class RescuedDataset:
    """One dataset. `rows` is what it should hold, as far as that is known."""

    name: str
    state: str  # whole, part, doubtful (there, and its checksum differs), lost
    rows: int
    rows_recovered: int
    lost: tuple[LostRows, ...] = ()
    unstored: tuple[tuple[int, int], ...] = ()  # rows for which nothing lies in the file
    checked_by: str = ""  # what vouches for the rows; nothing: HDF5 has no checksum of them
    description_checked: bool = False  # whether type, shape and name have a checksum, too
    dtype: str = ""
    shape: tuple[int, ...] = ()
    attributes_lost: tuple[str, ...] = ()
    why: str = ""

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "state": self.state,
            "rows": self.rows,
            "rows_recovered": self.rows_recovered,
            "lost": [{"first": one.first, "last": one.last, "why": one.why} for one in self.lost],
            "unstored": [list(one) for one in self.unstored],
            "checked_by": self.checked_by,
            "description_checked": self.description_checked,
            "dtype": self.dtype,
            "shape": list(self.shape),
            "attributes_lost": list(self.attributes_lost),
            "why": self.why,
        }


@dataclass(frozen=True)
class LostObject:
    """A group, link or anything else that could not be read; what lay in it is not known."""

    name: str
    why: str


@dataclass(frozen=True)
class Rescued:
    """The outcome. `to` is None when there was nothing to write."""

    path: Path
    kind: str  # whole, truncated, dirty, damaged, empty, text, foreign, folder
    says: str
    to: Path | None = None
    datasets: tuple[RescuedDataset, ...] = ()
    lost_objects: tuple[LostObject, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def is_whole(self) -> bool:
        """Nothing is lost that we know of."""
        return (
            self.to is not None
            and not self.lost_objects
            and all(one.state == WHOLE and not one.attributes_lost for one in self.datasets)
        )

    @property
    def rows_recovered(self) -> int:
        return sum(one.rows_recovered for one in self.datasets)

    def to_json(self) -> dict[str, Any]:
        return {
            "path": str(self.path),
            "kind": self.kind,
            "says": self.says,
            "to": None if self.to is None else str(self.to),
            "is_whole": self.is_whole,
            "datasets": [one.to_json() for one in self.datasets],
            "lost_objects": [{"name": one.name, "why": one.why} for one in self.lost_objects],
            "notes": list(self.notes),
        }

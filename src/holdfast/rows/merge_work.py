"""What a merge is made of, whatever it merges: a kind of source, its work, and what came of it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from holdfast.rows.errors import RowsError
from holdfast.rows.merge_steps import Meter


@dataclass(frozen=True)
class Places:
    """Where in the file plain rows go, by dataset id; and the table of checksums."""

    rows: dict[int, int]
    checks: int

    def to_json(self) -> dict[str, Any]:
        return {"rows": {str(key): value for key, value in self.rows.items()},
                "checks": self.checks}  # fmt: skip

    @classmethod
    def from_json(cls, found: dict[str, Any]) -> "Places":
        return cls({int(key): int(at) for key, at in found["rows"].items()}, int(found["checks"]))


@dataclass(frozen=True)
class Merged:
    """What is in the new file, and what is worth a word."""

    output: Path
    rows: dict[str, int]
    nbytes: int
    parts: int
    is_resumed: bool = False
    files: tuple[str, ...] = ()  # plain HDF5 files, in the order of their tasks
    tasks: tuple[str, ...] = ()  # what each of them is called in the new file
    open_logs: tuple[str, ...] = ()  # still being written: what they had when the merge began
    left_out: tuple[str, ...] = ()  # damaged, and so not in it
    notes: tuple[str, ...] = ()
    taken: frozenset[tuple[str, int]] = field(default=frozenset())  # folder and number of parts
    removed: tuple[str, ...] = ()


class AnyStep(Protocol):
    """Some rows of one dataset, with a place in the table of checksums."""

    @property
    def number(self) -> int: ...
    @property
    def nbytes(self) -> int: ...
    @property
    def is_packed(self) -> bool:
        """Whether the frame has it already."""


class Copies(Protocol):
    """Puts the rows of a step into the file that is made."""

    def place_of(self, step: Any) -> int:
        """The byte of the new file where the rows of this step begin."""

    def copy(self, fd: int, step: Any) -> int:
        """Puts them there; returns what their checksum must be."""

    def why(self, path: Path, step: Any) -> RowsError:
        """The words for rows that do not read back as they should."""


class MergeWork(Protocol):
    """Everything is decided: which rows of which source go where."""

    @property
    def nbytes(self) -> int: ...
    @property
    def needed_bytes(self) -> int: ...
    @property
    def steps(self) -> Sequence[AnyStep]: ...

    def make_frame(self, path: Path, meter: Meter) -> Places:
        """The new file without its plain rows, in one go: killed before its end, anew."""

    def copies(self, places: Places) -> Copies: ...

    def check(self, path: Path) -> None:
        """The last look at the new file, before it appears."""

    def to_json(self) -> dict[str, Any]: ...

    def merged(self, output: Path, *, is_resumed: bool) -> Merged: ...


class MergeKind(Protocol):
    """What is merged: the rows of a log directory, or plain HDF5 files."""

    def asked(self) -> dict[str, Any]:
        """By what a call is known to be the same as an earlier one."""

    def begin(self, folder: Path) -> MergeWork: ...

    def again(self, told: dict[str, Any]) -> MergeWork | None:
        """The same work as an earlier try; None if its sources are not there any more."""

"""Lines of the tasks' program that tell before it runs: read as text, never run.

They switch HDF5's file locks off, or make every task a chief.
"""

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from holdfast.model.facts import Fact
from holdfast.model.pattern import Pattern
from holdfast.model.program_facts import ChiefForAll, Hdf5LocksOff

PROGRAM_BYTES_MAX = 1 << 20
LINES_MAX = 20
TEXT_LENGTH_MAX = 120
_SUFFIXES = (".py", ".sh", ".bash")
# os.environ["…"] = "FALSE", setdefault("…", "0"), export …=FALSE, h5py.File(…, locking=False)
_OFF = Pattern(
    r"(?i)HDF5_USE_FILE_LOCKING['\"\])\s]*[=,:]\s*['\"]?(?:false\b|0\b)"
    r"|\bFile\(.*\blocking\s*=\s*(?:False\b|['\"]false['\"])"
)
_READS = Pattern(r"['\"]r['\"]")  # a file that is only read needs no lock


_CHIEF = Pattern(r"\bis_chief\s*=\s*True\b")


def locks_switched_off(command: Sequence[str], where: dict[str, Any]) -> list[Fact]:
    """Of the files that a command names: what they import is not looked at."""
    return [
        Hdf5LocksOff(file=name, line=number, text=text[:TEXT_LENGTH_MAX], **where)
        for name, number, text in _lines(command, _OFF)
        if "HDF5_USE_FILE_LOCKING" in text or not _READS.search(text)
    ]


def chief_for_all(command: Sequence[str], where: dict[str, Any]) -> list[Fact]:
    """Where the word for the chief stands as a constant, and not as a question to TF_CONFIG."""
    return [
        ChiefForAll(file=name, line=number, text=text[:TEXT_LENGTH_MAX], **where)
        for name, number, text in _lines(command, _CHIEF)
    ]


def _lines(command: Sequence[str], telling: Pattern) -> Iterator[tuple[str, int, str]]:
    """Each telling line, with its file and number; a comment tells nothing."""
    for name in command:
        found = (
            (name, number, bare)
            for number, line in enumerate(_text(name).split("\n"), 1)
            if not (bare := line.strip()).startswith("#") and telling.search(bare)
        )
        yield from islice(found, LINES_MAX)


def _text(name: str) -> str:
    try:
        path = Path(name)
        if not name.endswith(_SUFFIXES) or not path.is_file():
            return ""
        with path.open("rb") as file:
            return file.read(PROGRAM_BYTES_MAX).decode(errors="replace")
    except (OSError, ValueError):
        return ""  # whoever starts it will hear of it

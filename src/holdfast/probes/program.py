"""Lines of the tasks' program that switch HDF5's file locks off: read as text, never run."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from holdfast.model.facts import Fact
from holdfast.model.pattern import Pattern
from holdfast.model.program_facts import Hdf5LocksOff

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


def locks_switched_off(command: Sequence[str], where: dict[str, Any]) -> list[Fact]:
    """Of the files that a command names: what they import is not looked at."""
    return [fact for word in command if word.endswith(_SUFFIXES) for fact in _lines(word, where)]


def _lines(name: str, where: dict[str, Any]) -> Iterator[Fact]:
    try:
        path = Path(name)
        if not path.is_file():
            return
        with path.open("rb") as file:
            text = file.read(PROGRAM_BYTES_MAX).decode(errors="replace")
    except OSError:
        return  # whoever starts it will hear of it
    left = LINES_MAX
    for number, line in enumerate(text.split("\n"), 1):
        bare = line.strip()
        if bare.startswith("#") or not _OFF.search(bare):
            continue
        if "HDF5_USE_FILE_LOCKING" not in bare and _READS.search(bare):
            continue
        yield Hdf5LocksOff(file=name, line=number, text=bare[:TEXT_LENGTH_MAX], **where)
        left -= 1
        if not left:
            return

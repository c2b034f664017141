"""How far a merge has come: a folder beside its output, from which it goes on after a kill."""

import fcntl
import json
import os
import shutil
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple, Self

from holdfast.rows.errors import Held, RowsError
from holdfast.rows.layout import sync_folder
from holdfast.rows.sums import sum_of

FORMAT: Final = "holdfast-merge/1"
_JOURNAL: Final = "journal"
_NOTE_BYTES: Final = 64 << 20
_NOTE_S: Final = 1.0
_JOURNAL_BYTES_MAX: Final = 1 << 30
_BOOT_ID: Final = Path("/proc/sys/kernel/random/boot_id")


class Mark(NamedTuple):
    """By what a finished file is known again, on whatever disk: its table of all checksums."""

    file_bytes: int
    at: int
    nbytes: int
    xxh3: int

    @classmethod
    def of(cls, path: Path, at: int, nbytes: int) -> "Mark":
        with path.open("rb") as file:
            table = os.pread(file.fileno(), nbytes, at)
            return cls(os.fstat(file.fileno()).st_size, at, nbytes, sum_of(table))


@dataclass(frozen=True)
class Past:
    """What an earlier try has left."""

    plan: dict[str, Any] | None = None
    places: dict[str, Any] | None = None
    done: int = 0  # steps
    published: Mark | None = None  # of the file that was finished
    is_of_this_boot: bool = True


class Journal:
    """Holds the folder while the merge goes on; a second merge to the same output is refused."""

    def __init__(self, output: Path) -> None:
        self.folder = output.with_name(f".{output.name}.merge")
        self.past = Past()
        self._fd = -1
        self._done = 0
        self._unnoted_bytes = 0
        self._noted_at_s = time.monotonic()

    def __enter__(self) -> Self:
        self.folder.mkdir(exist_ok=True)
        self._fd = os.open(
            self.folder / _JOURNAL, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666
        )
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self._fd)
            raise Held(
                f"another merge makes the same file: it holds {self.folder}",
                do="wait for it, or choose another output",
            ) from None
        self.past = _read(self._fd)
        self._done = self.past.done
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._fd)

    def restart(self) -> None:
        """Forgets an earlier try and all it made."""
        os.ftruncate(self._fd, 0)
        self._remove_files()
        self.past = Past()
        self._done = 0

    def plan(self, told: dict[str, Any]) -> None:
        self._note({"format": FORMAT, "plan": told})

    def framed(self, places: dict[str, Any]) -> None:
        self._note({"places": places, "boot": boot_id()})
        sync_folder(self.folder)

    def done(self, number: int, nbytes: int) -> None:
        """A step was written and read back. Told to the disk now and then."""
        self._done = number + 1
        self._unnoted_bytes += nbytes
        now_s = time.monotonic()
        if self._unnoted_bytes >= _NOTE_BYTES or now_s - self._noted_at_s >= _NOTE_S:
            self.flush()

    def flush(self) -> None:
        os.write(self._fd, _line({"done": self._done, "boot": boot_id()}))
        self._unnoted_bytes = 0
        self._noted_at_s = time.monotonic()

    def publishing(self, mark: Mark) -> None:
        """From now on only the name and the tidying up are missing."""
        self._note({"published": mark})

    def remove(self) -> None:
        """The merge is over: what helped to make it goes, the journal last."""
        self._remove_files()
        (self.folder / _JOURNAL).unlink(missing_ok=True)
        self.folder.rmdir()

    def _remove_files(self) -> None:
        for entry in os.scandir(self.folder):
            if entry.name == _JOURNAL:
                continue
            if entry.is_dir(follow_symlinks=False):
                shutil.rmtree(entry.path)
            else:
                os.unlink(entry.path)  # noqa: PTH108

    def _note(self, told: dict[str, Any]) -> None:
        os.write(self._fd, _line(told))
        os.fsync(self._fd)


def boot_id() -> str:
    """Another after a restart of the host, and on another host."""
    try:
        return _BOOT_ID.read_text().strip()
    except OSError:
        return ""


def _line(told: dict[str, Any]) -> bytes:
    return json.dumps(told, separators=(",", ":")).encode() + b"\n"


def _read(fd: int) -> Past:
    """All whole lines; one that was cut by a kill does not count."""
    size = os.fstat(fd).st_size
    if size > _JOURNAL_BYTES_MAX:
        raise RowsError("the journal of an earlier merge is too long", do="merge with --fresh")
    plan = places = published = None
    done, boots = 0, set()
    text = bytearray()
    while piece := os.pread(fd, size, len(text)):
        text += piece
    *lines, cut = bytes(text).split(b"\n")
    if cut:
        os.ftruncate(fd, os.fstat(fd).st_size - len(cut))
    for line in lines:
        try:
            told = json.loads(line)
        except ValueError:
            break
        if told.get("format", FORMAT) != FORMAT:
            return Past()
        plan = told.get("plan", plan)
        places = told.get("places", places)
        published = told.get("published", published)
        done = told.get("done", done)
        boots.add(told.get("boot", boot_id()))
    mark = Mark(*published) if published else None
    return Past(plan, places, done, mark, boots <= {boot_id()})

"""Which plain HDF5 files are merged, in which order, by which names; and whether they can be."""

import contextlib
import fcntl
import itertools
import os
import signal
import stat
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from holdfast.rows.errors import Damaged, Held, Refused, RowsError
from holdfast.rows.layout import rows_folder
from holdfast.rows.rescuing.look import DIRTY, WHOLE, look

SUFFIXES: Final = frozenset({".h5", ".hdf5", ".hdf", ".he5", ".h5py"})
FILES_MAX: Final = 100_000


@dataclass(frozen=True)
class SourceFile:
    """One file, what its rows are called in the merged one, and by what it is known again."""

    path: Path
    task: str
    nbytes: int
    mtime_ns: int

    def to_json(self) -> list[Any]:
        return [str(self.path), self.task, self.nbytes, self.mtime_ns]

    def check_unchanged(self) -> None:
        try:
            seen = self.path.stat()
        except FileNotFoundError:
            raise Damaged(
                f"{self.path} is gone", do="bring it back, then merge with --fresh"
            ) from None
        if (seen.st_size, seen.st_mtime_ns) != (self.nbytes, self.mtime_ns):
            raise RowsError(
                f"{self.path} was changed while it was merged",
                do="wait until its writer is done, then merge with --fresh",
            )


def files_of(places: Sequence[Path], output: Path) -> list[Path]:
    """The plain files that are meant, in natural order; none if it is a log directory, or empty.

    Of a folder, all files with a name of HDF5 that lie directly in it, but not the output.
    """
    if len(places) == 1 and (_has_rows(places[0]) or not places[0].exists()):
        return []
    found: list[Path] = []
    for place in places:
        if not place.exists():
            raise RowsError(f"there is no {place}", do="look at its name: ls -la")
        if _has_rows(place):
            raise Refused(
                f"{place} is a log directory of rows", do="merge it alone, and the files apart"
            )
        found += _in_folder(place, output) if place.is_dir() else [place]
    if len(found) > FILES_MAX:
        raise Refused(f"{len(found):,} files are too many", do=f"merge up to {FILES_MAX:,} at once")
    twice = [path for path, count in Counter(found).items() if count > 1]
    if twice:
        raise Refused(f"{twice[0]} is named twice", do="name it once")
    if output in found:
        raise Refused(f"{output} is a source and the output", do="choose another output")
    return sorted(found, key=natural)


def _has_rows(place: Path) -> bool:
    return (rows_folder(place) / "format.json").exists()


def _in_folder(folder: Path, output: Path) -> list[Path]:
    with os.scandir(folder) as entries:
        names = [entry.name for entry in entries if entry.is_file()]
    paths = [folder / name for name in names if not name.startswith(".")]
    return [path for path in paths if path.suffix.lower() in SUFFIXES and path != output]


def natural(path: Path) -> list[tuple[int, int, str]]:
    """Numbers in names count as numbers: worker_2 is before worker_10."""
    key: list[tuple[int, int, str]] = []
    for part in (*path.parent.parts, path.stem, path.name):
        for is_number, letters in itertools.groupby(part, lambda one: one in "0123456789"):
            text = "".join(letters)
            key.append((0, int(text), text) if is_number else (1, 0, text))
        key.append((-1, 0, ""))  # a shorter name is before a longer one
    return key


def task_names(paths: Sequence[Path]) -> list[str]:
    """The name without its ending; where two would be alike, with as many folders as it takes."""
    for depth in range(1, max((len(path.parts) for path in paths), default=1) + 1):
        names = ["-".join((*path.parts[-depth:-1], path.stem)).lstrip("/") for path in paths]
        if len(set(names)) == len(names):
            return names
    return [f"{number}-{path.name}" for number, path in enumerate(paths)]


def as_source(path: Path, task: str) -> SourceFile:
    """The file as it is now; Held or Damaged if nobody should read it."""
    try:
        seen = look(path)
        known = path.stat()
    except PermissionError as error:
        raise RowsError(
            f"{path} cannot be read: {error.strerror}", do="ask for the right"
        ) from error
    except OSError as error:
        raise Damaged(f"{path} cannot be read: {error.strerror}", do="look at it") from error
    _check_closed(path)
    if not seen.is_hdf5:
        raise Damaged(f"{path}: {seen.says}", do="leave it out, or merge with --skip-damaged")
    if seen.kind == DIRTY:
        raise Damaged(
            f"{path}: it is marked as open for writing, and no process of this host writes it",
            do=f"if no other host does: {rescue_it(path)}",
        )
    if seen.kind != WHOLE:
        raise Damaged(f"{path}: {seen.says}", do=rescue_it(path))
    return SourceFile(path, task, known.st_size, known.st_mtime_ns)


def rescue_it(path: Path) -> str:
    return (
        f"holdfast rescue {path} saves what still reads; merge that file in its place, "
        "or the others with --skip-damaged"
    )


def _check_closed(path: Path) -> None:
    """Held if some process has it open for writing, as far as the kernel of this host knows."""
    with _descriptor(path) as fd:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            return
        try:
            fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
            fcntl.flock(fd, fcntl.LOCK_UN)
        except BlockingIOError:
            raise _held(path) from None
        except OSError:
            pass  # a file system without locks
        if _has_a_writer(fd):
            raise _held(path)


def _has_a_writer(fd: int) -> bool:
    """Only a file that nobody has open for writing can be leased for reading.

    So a writer is seen that HDF5 was told not to lock for. The lease is given back at once; who
    opens the file in between makes the kernel send a signal, which must be one that ends nobody.
    """
    with contextlib.suppress(OSError):
        fcntl.fcntl(fd, fcntl.F_SETSIG, signal.SIGURG)
        try:
            fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_RDLCK)
        except BlockingIOError:
            return True
        fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    return False


def _held(path: Path) -> Held:
    return Held(
        f"{path} is open for writing by another process",
        do="merge when it has closed the file; if it hangs, end it, then try: holdfast rescue",
    )


@contextlib.contextmanager
def _descriptor(path: Path) -> Iterator[int]:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        yield fd
    finally:
        os.close(fd)

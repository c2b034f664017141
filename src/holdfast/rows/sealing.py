"""Seals: a log that nobody writes any more becomes an HDF5 segment, and goes.

`python -m holdfast.rows.sealing LOGDIR...` seals what is over below these, then ends.
"""

import contextlib
import fcntl
import mmap
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from holdfast.rows import layout, storage
from holdfast.rows.errors import Damaged, RowsError, unwritable
from holdfast.rows.frames import MAGIC, MORE_FOLLOWS, Tail, frame_at
from holdfast.rows.publishing import discard, private_path, publish
from holdfast.rows.reading import Part, Source, parts, read_part, source_in, sources
from holdfast.rows.segment import write_segment

_LOWEST_PRIORITY: Final = 19
_UNBORN_S: Final = 60.0
_DO: Final = "make room, or mend the disk: the log stays, and is sealed later"
_started: list[subprocess.Popen[bytes]] = []


def seal(part: Part) -> Path:
    """Makes the segment of a log that is over, then removes the log; returns the segment.

    A torn tail was never acknowledged and goes. Where whole frames lie behind something else,
    the log is Damaged and stays as it is.
    """
    target = part.path.with_name(layout.segment_name(part.number))
    if not part.is_segment:
        with contextlib.suppress(FileNotFoundError):
            write_snapshot(part, target)
            discard(part.path)
        if not target.exists():
            raise Damaged(f"{part.path} is gone", do="look for who removed it")
    return target


def write_snapshot(part: Part, target: Path) -> Path:
    """All rows that a part has now, as a segment of their own."""
    with read_part(part) as content:
        if content.tail is not None:
            check_tail(part.path, content.tail)
        source = part.source
        try:
            with private_path(target) as private:
                write_segment(
                    private,
                    content,
                    task=source.task,
                    incarnation=source.incarnation,
                    number=part.number,
                )
                publish(private, target)
        except FileNotFoundError:
            raise
        except OSError as error:
            raise unwritable(target, error, do=_DO) from error
    return target


def check_tail(path: Path, tail: Tail) -> None:
    """Damaged if behind the first thing that does not count, something would."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as log:
        with memoryview(log) as whole, whole[: tail.total_bytes] as view:
            behind = _behind_cut_group(view, tail.good_bytes)
            at = log.find(MAGIC, behind)
            while 0 <= at < tail.total_bytes and frame_at(view, at) is None:
                at = log.find(MAGIC, at + 1)
        is_ours = tail.good_bytes or not log[: tail.total_bytes].strip(b"\0")
    if 0 <= at < tail.total_bytes:
        raise Damaged(
            f"{path} is damaged at byte {behind:,} ({tail.why}), and whole rows lie behind it",
            do=f"{storage.RESCUE}; the log is left as it is",
        )
    if not is_ours:
        raise Damaged(f"{path} is no log of rows: {tail.why}", do="remove it if it is not yours")


def _behind_cut_group(view: memoryview, at: int) -> int:
    """A group that was cut begins with whole frames: they do not count, and are no damage."""
    while (found := frame_at(view, at)) is not None and found.flags & MORE_FOLLOWS:
        at = found.offset + found.nbytes
    return at


def seal_source(folder: Path) -> list[Path]:
    """Seals all logs of one source that are over, and removes what killed sealers left."""
    with _alone(folder, wait=True):
        source = source_in(folder)
        _remove_leftovers(folder)
        return [seal(part) for part in parts(source) if part.is_over and not part.is_segment]


def seal_folder(logdir: str | os.PathLike[str]) -> tuple[list[Path], list[RowsError]]:
    """Seals everything that is over; one that cannot be sealed does not stop the others."""
    made: list[Path] = []
    errors: list[RowsError] = []
    for source in _sealable(logdir):
        try:
            made += seal_source(source.folder)
        except RowsError as error:
            errors.append(error)
    return made, errors


def start_background(logdir: str | os.PathLike[str]) -> None:
    """Starts a process that seals at the lowest priority; at most one of ours at a time."""
    _started[:] = [one for one in _started if one.poll() is None]
    if _started:
        return
    home = str(Path(__file__).parent.parent.parent)
    path = os.pathsep.join(filter(None, (home, os.environ.get("PYTHONPATH", ""))))
    _started.append(
        subprocess.Popen(
            [sys.executable, "-m", "holdfast.rows.sealing", os.path.abspath(logdir)],  # noqa: PTH100
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": path},
            start_new_session=True,
        )
    )


def main(logdirs: list[str]) -> int:
    """Once through is not enough: a log may end while another is being sealed."""
    os.nice(_LOWEST_PRIORITY)
    code = 0
    for logdir in logdirs:
        failed: set[str] = set()
        while any(_open_ends(logdir)):
            with _alone(layout.rows_folder(logdir), wait=False) as is_alone:
                if not is_alone:
                    break
                made, errors = seal_folder(logdir)
            failed = {str(error) for error in errors}
            if not made:
                break
        for why in sorted(failed):
            print(why, file=sys.stderr)  # noqa: T201 - a program
            code = 1
    return code


def _open_ends(logdir: str) -> Iterator[Part]:
    for source in _sealable(logdir):
        for part in parts(source):
            if part.is_over and not part.is_segment:
                yield part


def _sealable(logdir: str | os.PathLike[str]) -> list[Source]:
    """Logs of the central way are not ours: who compacts them removes them."""
    found = sources(logdir)
    return [one for one in found if layout.read_source(one.folder).get("way") != "central"]


def _remove_leftovers(folder: Path) -> None:
    for entry in os.scandir(folder):
        name = entry.name
        is_ours = name.startswith(".") and name.endswith(".tmp") and ".h5." in name
        if is_ours and layout.part_number(name.split(".")[1] + ".h5", ".h5") is not None:
            with contextlib.suppress(OSError):
                os.unlink(entry.path)  # noqa: PTH108
        if name.startswith(".") and name.endswith(".tmp") and ".log." in name:
            _remove_unborn(Path(entry.path))
        number = layout.part_number(name, ".log")
        # Killed between the birth of the segment and the end of its log.
        if number is not None and (folder / layout.segment_name(number)).exists():
            with contextlib.suppress(OSError):
                os.unlink(entry.path)  # noqa: PTH108


def _remove_unborn(path: Path) -> None:
    """A log whose writer was killed before it had its name: nobody holds it, and it is old."""
    with contextlib.suppress(OSError):
        if time.time() - path.stat().st_mtime < _UNBORN_S:
            return
        with path.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            path.unlink()


@contextlib.contextmanager
def _alone(folder: Path, *, wait: bool) -> Iterator[bool]:
    """Whether nobody else seals here. Without locks, two make the same bytes twice: no harm."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    is_alone = True
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        is_alone = False
    except OSError:
        pass  # a file system without locks on folders
    try:
        yield is_alone
    finally:
        os.close(fd)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

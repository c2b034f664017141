"""What a log has ahead of its rows: filler that makes room in the page cache, and is no row.

A small write that makes a file longer costs more to find pages for than to copy. So a log is made
longer by many pages at once, and rows are written over the filler. Filler says where it lies: it
repeats at known places, so that what is not written yet is known from rows, whatever these are.
"""

import os
from pathlib import Path
from typing import Final

import numpy as np

from holdfast.rows.mounts import mount_of

AHEAD_BYTES: Final = 128 << 10
_FROM_BYTES: Final = 4 << 10  # shorter logs are not worth it
_LARGE_BYTES: Final = 64 << 10  # nor are writes that are many pages themselves
_UNIT: Final = b"\xffholdfast: no rows here, not yet\xfe"
# As long as what is not written yet can be: a block of it, and before that the rest of the last
# one, where the next frame did not fit.
_MOST_BYTES: Final = 2 * AHEAD_BYTES + _LARGE_BYTES
FILLER: Final = _UNIT * (_MOST_BYTES // len(_UNIT) + 2)
# Where it pays. tmpfs gains nothing, btrfs loses, and over a network it would be sent.
_KINDS: Final = frozenset({"ext4", "xfs", "overlay"})
NEVER: Final = 1 << 62


def pays_in(folder: Path) -> bool:
    """Whether the file system of this folder is one where going ahead saves time."""
    return mount_of(Path(os.path.realpath(folder)))[0] in _KINDS


def go_ahead(fd: int, ahead_bytes: int, start: int, upto: int) -> int:
    """Before a write from `start` to `upto`: the file's length, or what it will have then."""
    if start < _FROM_BYTES or upto - start >= _LARGE_BYTES:
        return upto
    begin = max(ahead_bytes, start)
    nbytes = 2 * AHEAD_BYTES - begin % AHEAD_BYTES
    skip = begin % len(_UNIT)
    try:
        done = os.pwrite(fd, memoryview(FILLER)[skip : skip + nbytes], begin)
    except OSError:
        return upto  # if there is no room, the write itself says so
    return max(upto, begin + done)


def written_bytes(fd: int, total_bytes: int) -> int:
    """How much of a file of this length lies before its filler.

    Rows may end like filler by chance: then it is some bytes too low, so that a whole frame
    counts wherever it ends, and one that is not whole and ends behind this was being written.
    """
    for nbytes in (len(_UNIT), _MOST_BYTES):  # most files have none: a short look tells
        start = min(max(_FROM_BYTES, total_bytes - nbytes), total_bytes)
        found = np.frombuffer(os.pread(fd, total_bytes - start, start), np.uint8)
        if start + len(found) < total_bytes:  # its writer has closed it in this moment
            return written_bytes(fd, os.fstat(fd).st_size)
        written = start + _other(found, start)
        if written == total_bytes:
            break
    return written


def _other(found: "np.ndarray[tuple[int], np.dtype[np.uint8]]", start: int) -> int:
    """The length without the filler at its end; the first byte lies at `start` in the file."""
    skip = start % len(_UNIT)
    filler = np.frombuffer(FILLER, np.uint8)[skip : skip + len(found)]
    differing = np.flatnonzero(found != filler)
    return int(differing[-1]) + 1 if len(differing) else 0

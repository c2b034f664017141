"""Fills the plain rows of a merged file: copied by the kernel, checked one step behind."""

import errno
import mmap
import os
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from holdfast.rows import storage
from holdfast.rows.errors import Damaged, RowsError
from holdfast.rows.merge_journal import Journal
from holdfast.rows.merge_plan import Unit
from holdfast.rows.merge_rows import mapped
from holdfast.rows.merge_steps import CHECK, CHECK_XXH3_AT, Meter
from holdfast.rows.merge_work import AnyStep, Copies
from holdfast.rows.sums import SUM_BYTES, sum_of

_STEPS_AHEAD_MAX: Final = 4  # copied and not yet checked
_PIECE_BYTES: Final = 8 << 20
_SYNC_BYTES: Final = 256 << 20
_NOT_BY_KERNEL: Final = frozenset(
    {errno.EXDEV, errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.EPERM, errno.ETXTBSY}
)


class Filling:
    """One merged file whose plain rows are being put in place."""

    def __init__(
        self, path: Path, checks_at: int, copies: Copies, journal: Journal, meter: Meter
    ) -> None:
        self._path = path
        self._checks_at = checks_at
        self._copies = copies
        self._journal = journal
        self._meter = meter

    def fill(self, steps: Iterable[AnyStep]) -> None:
        """Does these steps, in order. Nothing counts before its checksum was read back."""
        waiting: deque[tuple[AnyStep, int, Future[int]]] = deque()
        unsynced_bytes = 0
        synced: list[Future[None]] = []
        with (
            opened(self._path, os.O_RDWR) as fd,
            mmap.mmap(fd, 0, access=mmap.ACCESS_READ) as view,
            ThreadPoolExecutor(1) as checks,
            ThreadPoolExecutor(1) as syncs,
        ):
            for step in steps:
                expected = self._copies.copy(fd, step)
                at = self._copies.place_of(step)
                waiting.append((step, expected, checks.submit(sum_at, view, at, step.nbytes)))
                unsynced_bytes += step.nbytes
                if unsynced_bytes >= _SYNC_BYTES:
                    # Begun now, the disk works while we copy; the end waits for the rest.
                    synced.append(syncs.submit(os.fdatasync, fd))
                    unsynced_bytes = 0
                if len(waiting) > _STEPS_AHEAD_MAX:
                    self._settle(fd, *waiting.popleft())
            while waiting:
                self._settle(fd, *waiting.popleft())
        for one in synced:
            one.result()  # the kernel tells of a write that failed only once
        self._journal.flush()

    def _settle(self, fd: int, step: AnyStep, expected: int, check: "Future[int]") -> None:
        xxh3 = check.result()
        if xxh3 != expected:
            raise self._copies.why(self._path, step)
        place = self._checks_at + step.number * CHECK.itemsize + CHECK_XXH3_AT
        storage.write_all(fd, memoryview(xxh3.to_bytes(SUM_BYTES, "little")), place)
        self._journal.done(step.number, step.nbytes)
        self._meter.add(step.nbytes)


def copy_bytes(path: Path, offset: int, nbytes: int, fd: int, at: int) -> None:
    """By the kernel, from file to file, where it can; else in pieces through our memory."""
    by_kernel = True
    with opened(path, os.O_RDONLY) as source:
        while nbytes:
            if by_kernel:
                try:
                    count = os.copy_file_range(source, fd, nbytes, offset, at)
                except OSError as error:
                    if error.errno not in _NOT_BY_KERNEL:
                        raise
                    count = 0
                by_kernel = count > 0
            if not by_kernel:
                piece = os.pread(source, min(nbytes, _PIECE_BYTES), offset)
                storage.write_all(fd, memoryview(piece), at)
                count = len(piece)
                if not count:
                    raise Damaged(f"{path} is cut", do=storage.RESCUE)
            nbytes, offset, at = nbytes - count, offset + count, at + count


def not_as_written(path: Path, name: str) -> RowsError:
    return RowsError(
        f"{path}: {name} does not read back as it was written",
        do="look at the disk and the memory of this host, then merge again",
    )


def sum_at(view: mmap.mmap, at: int, nbytes: int) -> int:
    """The checksum of the rows of a step, as they now lie in the merged file."""
    with memoryview(view) as whole, whole[at : at + nbytes] as rows:
        return sum_of(rows)


def sum_of_unit(unit: Unit) -> int:
    """The checksum of plain rows as they now lie in their segment."""
    return sum_of(storage.bytes_of(mapped(unit)))


@contextmanager
def opened(path: Path, flags: int) -> Iterator[int]:
    try:
        fd = os.open(path, flags | os.O_CLOEXEC)
    except FileNotFoundError as error:
        raise Damaged(f"{path} is gone", do="bring it back, or merge again") from error
    try:
        yield fd
    finally:
        os.close(fd)

"""Run as a script: try what a directory can do, where a hung mount holds up nobody else.

It says one JSON object a line, each as soon as it is known, so that what was learnt before a
hang is not lost. The files it tries with never have a name, or lose it before they are used.
"""

import contextlib
import errno
import fcntl
import json
import os
import secrets
import stat
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

WORKS = "works"
BLOCK = b"holdfast" * 512
RECORDS = 64
RECORD_BYTES = 64
LOOKS_AT_CLOCK = 3
CLOCK_WAIT_S = 0.5
COARSE_TICK_S = 0.01  # kernels stamp files with the time of their last tick
WHOLE_S = 1_000_000_000
NO_UNNAMED_FILES = {errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL, errno.ENOENT}
REFUSED, GRANTED, NOT_TRIED = 0, 1, 2

Trial = Iterator[tuple[str, Any]]


def main(what: str, path: str) -> None:
    trial = {"folder": _folder, "clock": _clock}[what]
    for name, value in trial(path):
        print(json.dumps({name: value}), flush=True)  # noqa: T201 - how it answers


def _folder(path: str) -> Trial:
    place = _existing(os.path.abspath(path))  # noqa: PTH100 - no pathlib: it starts faster
    yield "place", place
    yield "resolved", os.path.realpath(place)
    room = os.statvfs(place)
    yield "free_bytes", room.f_bavail * room.f_frsize
    yield "total_bytes", room.f_blocks * room.f_frsize
    yield "total_inodes", room.f_files or -1
    yield "free_inodes", room.f_favail if room.f_files else -1
    written = _write(place)
    yield "write", written
    if written == WORKS:
        yield "append", _append(place)
        yield "locks", _locks(place)
    yield "done", True


def _existing(path: str) -> str:
    """The directory itself, or the nearest one above it that is there."""
    while not os.path.lexists(path) and path != os.path.dirname(path):  # noqa: PTH120
        path = os.path.dirname(path)  # noqa: PTH120
    return path


def _unnamed_file(folder: str) -> int:
    """A file that is gone when the last process lets go of it, however that ends."""
    try:
        return os.open(folder, os.O_RDWR | os.O_TMPFILE | os.O_CLOEXEC, 0o600)
    except OSError as error:
        if error.errno not in NO_UNNAMED_FILES:
            raise
    name = os.path.join(folder, f".holdfast-{secrets.token_hex(16)}")  # noqa: PTH118
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    file = os.open(name, flags, 0o600)
    os.unlink(name)  # noqa: PTH108
    return file


def _write(folder: str) -> str:
    try:
        if not stat.S_ISDIR(os.stat(folder).st_mode):  # noqa: PTH116
            return os.strerror(errno.ENOTDIR)
        file = _unnamed_file(folder)
        if os.write(file, BLOCK) != len(BLOCK):
            return os.strerror(errno.ENOSPC)
        os.fsync(file)
        os.close(file)
    except OSError as error:
        return os.strerror(error.errno or 0)
    return WORKS


def _append(folder: str) -> str:
    """Two writers of one file: whatever one of them writes must not cover the other's."""
    try:
        file = _unnamed_file(folder)
        again = f"/proc/{os.getpid()}/fd/{file}"
        other = _fork(lambda: _append_records(again, b"b"))
        mine = _append_records(again, b"a")
        theirs = _end_of(other)
        if NOT_TRIED in (mine, theirs):
            return ""
        lines = os.pread(file, 4 * RECORDS * RECORD_BYTES, 0).split(b"\n")
        os.close(file)
    except OSError as error:
        return os.strerror(error.errno or 0)
    whole = [lines.count(letter * (RECORD_BYTES - 1)) for letter in (b"a", b"b")]
    return WORKS if whole == [RECORDS, RECORDS] else "what two processes append is lost"


def _append_records(path: str, letter: bytes) -> int:
    try:
        file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
    except OSError:
        return NOT_TRIED
    for _ in range(RECORDS):
        os.write(file, letter * (RECORD_BYTES - 1) + b"\n")
    os.close(file)
    return GRANTED


def _locks(folder: str) -> str:
    """Both kinds of lock, one after the other: NFS makes one of the two, and we would meet us."""
    kinds = (("flock", fcntl.flock), ("fcntl", fcntl.lockf))
    try:
        file = _unnamed_file(folder)
        for name, lock in kinds:
            try:
                lock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                return f"{name}: {os.strerror(error.errno or 0)}"
            end = _end_of(_fork(partial(_try_lock, os.getpid(), file, lock)))
            if end == NOT_TRIED:
                return ""
            if end == GRANTED:
                return f"{name}: two processes get one lock"
            lock(file, fcntl.LOCK_UN)
        os.close(file)
    except OSError as error:
        return os.strerror(error.errno or 0)
    return WORKS


def _try_lock(owner: int, file: int, lock: Callable[[int, int], object]) -> int:
    try:
        again = os.open(f"/proc/{owner}/fd/{file}", os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return NOT_TRIED
    try:
        lock(again, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return REFUSED
    return GRANTED


def _fork(work: Callable[[], int]) -> int:
    child = os.fork()
    if child:
        return child
    code = NOT_TRIED
    with contextlib.suppress(OSError):
        code = work()
    os._exit(code)


def _end_of(child: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _clock(path: str) -> Trial:
    """This host's clock against that of whoever stamps the files: the least wrong of some."""
    place = _existing(os.path.abspath(path))  # noqa: PTH100
    yield "resolved", os.path.realpath(place)
    until_s = time.monotonic() + CLOCK_WAIT_S
    best: tuple[float, float] | None = None
    file = _unnamed_file(place)
    for turn in range(LOOKS_AT_CLOCK):
        if turn and time.monotonic() > until_s:
            break
        before_s = time.time()
        os.utime(file)  # now, by the clock of the file system's server
        stamp_ns = os.fstat(file).st_mtime_ns
        after_s = time.time()
        coarse_s = COARSE_TICK_S if stamp_ns % WHOLE_S else 1.0
        error_s = (after_s - before_s) / 2 + coarse_s
        if best is None or error_s < best[0]:
            best = error_s, (before_s + after_s) / 2 - stamp_ns / WHOLE_S
    os.close(file)
    if best:
        yield "error_s", best[0]
        yield "offset_s", best[1]


if __name__ == "__main__":
    main(*sys.argv[1:3])

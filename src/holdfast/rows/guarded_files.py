"""The files that this process writes under the guard: each by its lease and by its inode.

The lease speaks for a name, before there is a file, and to other hosts; the lock on the inode for
the file itself, whatever becomes of its name. Both end when HDF5 has closed its descriptor, in
whatever way. A forked child is no second writer: it gets the parent's files for reading only.

The guard takes this file into tasks where Holdfast is not installed: it needs nothing but Python.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import functools
import os
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from . import inode_lock, open_files
from .lease import WAIT_FOR_FLOCK_S, Lease, owner_of, owners_in, take
from .lease_record import Held, Owner, held, is_held, is_here, seen_from_outside

TERM_S = 24 * 3600.0  # only another host must believe it: here, the process itself is looked at
RENEW_S = 3600.0
EXIT_S = 60.0  # HDF5 writes what it still has in mind when the process ends, after Python
# Where no side file can be made: the folder is not ours, or not there, or the name is too long.
NO_SIDE_FILE = frozenset(
    {errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG}
)
NAMED_BY_DRIVER = ("sec2", "direct")  # whose handle is a descriptor


class HeldFile(Held, BlockingIOError):  # noqa: N818 - reads as what it says
    """As h5py's own error for a locked file, so that a program that tries again still does."""


@dataclass
class _Written:
    """A file that this process writes; `fd` is HDF5's own, -1 where it is not known."""

    lease: Lease | None  # None: no side file could be made
    fd: int
    inode: tuple[int, int] | None
    renewed_s: float

    def is_open(self) -> bool:
        return self.inode is None or open_files.inode_of(self.fd) == self.inode


_turn = threading.RLock()  # to open a file
_files: list[_Written] = []
_inherited: list[_Written] = []  # our parent's, which we may read
_is_sweep_due = False


def open_guarded(
    path: str, *, task: str, file: Any, init: Callable[[], None], close: Callable[[], None]
) -> None:
    """`init` opens it, if nobody else writes it; HeldFile with who does, before any harm."""
    with _turn:
        _sweep()
        taken = _take(path, task)
        # Only now: whoever had the lease before us may have made the file.
        with _announced(path) as announced:
            try:
                _refuse_if_open(path, announced)
                init()
                _keep(_written(taken, file, path, announced), path, close)
            except BaseException:
                _give_up(taken, path, announced)
                raise
    if _is_sweep_due:
        sweep_soon()


def sweep_soon() -> None:
    """Let go of what is closed; if another thread is at it, that one does, and we do not wait."""
    global _is_sweep_due  # noqa: PLW0603 - one per process, as the files are
    _is_sweep_due = True
    while _is_sweep_due and _turn.acquire(blocking=False):
        try:
            _is_sweep_due = False
            _sweep()
        finally:
            _turn.release()


def renew_old() -> None:
    """Other hosts believe a lease for a day: count it anew once an hour."""
    now_s = time.monotonic()
    for one in _files.copy():
        if one.lease is not None and now_s - one.renewed_s > RENEW_S:
            one.renewed_s = now_s
            with contextlib.suppress(OSError, Held):
                one.lease.renew()


def let_go_of_all() -> None:
    """Also of what is still open: from now on it is not guarded."""
    with _turn:
        for one in _files:
            _end(one)
        _files.clear()


def at_exit() -> None:
    """What is open is written by HDF5 after this: here our death ends it, elsewhere its time."""
    with _turn:
        _sweep()
        for one in _files:
            if one.lease is not None:
                with contextlib.suppress(OSError, Held):
                    one.lease.renew(term_s=EXIT_S)


def before_fork(flush_all: Callable[[], None]) -> None:
    """What is not yet written would be written by both."""
    _turn.acquire()
    if _files:
        with contextlib.suppress(Exception):
            flush_all()


def after_fork_in_parent() -> None:
    _turn.release()


def after_fork_in_child() -> None:
    global _turn  # noqa: PLW0603
    _turn = threading.RLock()
    for one in _files:
        if one.is_open() and one.inode is not None:
            _make_read_only(one.fd)
            _inherited.append(one)
    _files.clear()


def has_inherited() -> bool:
    return bool(_inherited)


def is_inherited(file: Any) -> bool:
    """Whether it is our parent's: we were forked while it was open for writing."""
    return bool(_inherited) and _handle(file) in {one.fd for one in _inherited}


def not_the_childs(file: Any) -> HeldFile:
    """A child that has changed what it may only read hears that it was not written."""
    fd = _handle(file)
    (one, *_) = [one for one in _inherited if one.fd == fd]
    owner = one.lease.owner if one.lease is not None else seen_from_outside(os.getppid())
    why = held(file.filename, owner)
    why.do = "a process that was forked may read it, not write it: open it after the fork"
    return _as_held_file(why)


@contextlib.contextmanager
def _announced(path: str) -> Iterator[int]:
    """Have the file open while we ask who else has: of two who look at once, both see it."""
    try:
        fd = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:  # not there yet, or not ours to write: h5py says so
        yield -1
        return
    try:
        yield fd
    finally:
        os.close(fd)


def _take(path: str, task: str) -> Lease | None:
    counts = functools.partial(_counts, path=path)
    try:
        return take(path, task=task, term_s=TERM_S, stays=False, counts=counts)
    except Held as error:
        raise _as_held_file(error) from None
    except OSError as error:
        if error.errno not in NO_SIDE_FILE:
            raise
    owner = owner_of(path)
    if owner is not None and counts(owner):
        raise _as_held_file(held(path, owner))
    return None


def _counts(owner: Owner, *, path: str) -> bool:
    """Whether it lives, has the file open, and means the file that has the name now."""
    if not is_held(owner):
        return False
    if not owner.inode:
        return True  # about to open it
    if owner.inode != _number_at(path):
        return False  # what it writes was replaced by another file
    if not is_here(owner):
        return True
    if owner.pid == os.getpid():
        return any(one.lease and one.lease.owner.is_same_taking(owner) for one in _files)
    return open_files.is_written_by(owner.pid, owner.inode)


def _number_at(path: str) -> int:
    """Opened, not asked for by stat: network file systems answer that from memory."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except FileNotFoundError:
        return 0
    except OSError:
        return os.stat(path).st_ino  # noqa: PTH116
    try:
        return os.fstat(fd).st_ino
    finally:
        os.close(fd)


def _refuse_if_open(path: str, announced: int) -> None:
    """From here until `announced` is closed nobody else opens this inode for writing."""
    if announced < 0:
        return
    known = os.fstat(announced)
    if known.st_nlink > 1:  # several names have several side files
        for pid, name in open_files.writers_of(known, but=path):
            raise _as_held_file(held(path, owner_of(name) or seen_from_outside(pid)))
    if not inode_lock.works_on(announced, path):
        return
    is_ours = inode_lock.lock(announced, inode_lock.OPENING, wait_s=WAIT_FOR_FLOCK_S)
    if not is_ours or not inode_lock.is_free(announced, inode_lock.OPEN):
        raise _held_by_inode(path, announced)


def _held_by_inode(path: str, fd: int) -> HeldFile:
    """Under another name, or without its side file: the lease of some name there says who."""
    known = os.fstat(fd)
    seen = open_files.writers_of(known, but=path)
    owners = [owner for folder in _folders(path, seen) for owner in owners_in(folder)]
    for pid, _ in seen:
        for owner in owners:
            if (owner.pid, owner.inode) == (pid, known.st_ino) and is_here(owner):
                return _as_held_file(held(path, owner))
    pid = seen[0][0] if seen else os.getpid()
    return _as_held_file(held(path, seen_from_outside(pid)))


def _folders(path: str, seen: list[tuple[int, str]]) -> set[str]:
    return {os.path.dirname(name) for name in (path, *(name for _, name in seen))}  # noqa: PTH120


def _written(taken: Lease | None, file: Any, path: str, announced: int) -> _Written:
    """What HDF5 has opened: its own descriptor, and so the inode it really writes."""
    fd = _handle(file)
    if open_files.inode_of(fd) is None:
        fd = next(iter(_new_descriptors(path, announced)), -1)
    return _Written(taken, fd, open_files.inode_of(fd), time.monotonic())


def _handle(file: Any) -> int:
    """HDF5's own descriptor, or -1."""
    with contextlib.suppress(Exception):  # it is closed; and other drivers have other handles
        if file.driver in NAMED_BY_DRIVER:
            return int(file.id.get_vfd_handle())
    return -1


def _keep(one: _Written, path: str, close: Callable[[], None]) -> None:
    """The lock on what HDF5 has opened is the last word: the name may have changed on the way."""
    if one.inode is not None:
        fcntl.fcntl(one.fd, fcntl.F_SETFD, fcntl.FD_CLOEXEC)
        apart = inode_lock.works_on(one.fd, path)
        if apart and not inode_lock.lock(one.fd, inode_lock.OPEN):
            why = _held_by_inode(path, one.fd)
            close()
            raise why
    if one.lease is not None:
        try:
            one.lease.renew(inode=one.inode[1] if one.inode else 0)
        except Held as error:
            close()
            raise _as_held_file(error) from None
        except OSError:
            pass  # others believe that we are about to open it
    _files.append(one)


def _give_up(taken: Lease | None, path: str, announced: int) -> None:
    """It was not opened; or it was, and an exception came on the way."""
    if taken is None:
        return
    for fd in _new_descriptors(path, announced):
        _files.append(_Written(taken, fd, open_files.inode_of(fd), time.monotonic()))
        return
    taken.release()


def _new_descriptors(path: str, announced: int) -> list[int]:
    """Which this process writes the file by, and that were not known before."""
    try:
        named = os.stat(path)  # noqa: PTH116
    except OSError:
        return []
    known = {one.fd for one in _files if one.is_open()}
    found = open_files.written_here((named.st_dev, named.st_ino), but=announced)
    return [fd for fd in found if fd not in known]


def _sweep() -> None:
    """Let go of what this process has open no longer, however it was closed."""
    for one in [one for one in _files if not one.is_open()]:
        _files.remove(one)
        _end(one)


def _end(one: _Written) -> None:
    if one.lease is not None:
        one.lease.release()


def _make_read_only(fd: int) -> None:
    """What is read through it stays as it is; a write is refused by the system."""
    try:
        other = os.open("/proc/self/fd/%d" % fd, os.O_RDONLY | os.O_CLOEXEC)  # noqa: UP031
    except OSError:
        other = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.dup2(other, fd, inheritable=False)
    finally:
        os.close(other)


def _as_held_file(error: Held) -> HeldFile:
    found = HeldFile(
        error.message,
        do=error.do,
        host=error.host,
        pid=error.pid,
        task=error.task,
        since=error.since,
    )
    found.errno = errno.EAGAIN
    return found

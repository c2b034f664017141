"""Who may write a file: one owner at a time, kept in a side file that other hosts see, too.

The side file of `all.h5` is `.all.h5.holdfast-lease`. It is read and written under a short flock.
An owner on this host is asked for by pid and start time, and a dead one is followed at once; one
that we cannot ask (another host, another container) is respected until its time has run out.

What keeps one owner's acts from hitting another's lease:

- Whoever has the flock acts only if the path still names the file that is locked. So a side file
  may be removed by whoever has its lock, and those who waited for that lock begin anew.
- Whoever renews or lets go first finds its own taking in the record: token and nonce. A lease that
  was followed in the meantime is nobody's to end but its new owner's.
- The token grows with every change of owner, also when the side file was removed in between.

`tests/rows/test_lease_states.py` runs this code through every order of its system calls.
The guard takes this file into tasks where Holdfast is not installed: it needs nothing but Python.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace

from .lease_record import (
    RECORD_BYTES,
    SUFFIX,
    TERM_S,
    Held,
    Owner,
    held,
    is_held,
    myself,
    owner_in,
    record_of,
    side_file_of,
)

__all__ = ["Held", "Lease", "Owner", "owner_of", "owners_in", "side_file_of", "take"]

WAIT_FOR_FLOCK_S = 10.0
LOOK_AGAIN_S = 0.005
SIDE_FILES_MAX = 10_000
SETTLE_S = 0.2  # without locks: how long we wait for another one who took it in the same moment
NO_LOCKS = frozenset({errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL, 524})
# A child that is forked while another thread has the flock would keep it for as long as it lives.
_no_fork = threading.RLock()
os.register_at_fork(
    before=_no_fork.acquire,
    after_in_parent=_no_fork.release,
    after_in_child=_no_fork.release,
)


class Lease:
    """Held from `take` until `release`; a file system that loses it is found by `is_ours`."""

    def __init__(self, side_file: str, owner: Owner, *, term_s: float, stays: bool) -> None:
        self.side_file = side_file
        self.owner = owner
        self._term_s = term_s
        self._stays = stays
        self._pid = os.getpid()

    @property
    def token(self) -> int:
        return self.owner.token

    def is_ours(self) -> bool:
        """Whether nobody has taken it over, and its time has not run out."""
        try:
            with open(self.side_file, "rb") as file:  # noqa: PTH123
                found = owner_in(file.read(RECORD_BYTES))
        except OSError:
            return False
        return self._is_in(found) and found is not None and time.time() < found.until_s

    @contextlib.contextmanager
    def only_us(self) -> Iterator[None]:
        """While this goes on nobody can take it over; Held if somebody has, or its time is over."""
        with _locked(self.side_file, create=False) as side:
            found = side.read() if side else None
            if found is None or not self._is_in(found) or time.time() >= found.until_s:
                raise held(self.side_file, found)
            yield

    def renew(self, *, inode: int | None = None, term_s: float | None = None) -> None:
        """Count its time from now; Held if somebody has taken it over."""
        with _locked(self.side_file, create=False) as side:
            found = side.read() if side else None
            if side is None or not self._is_in(found):
                raise held(self.side_file, found)
            self.owner = replace(
                self.owner,
                until_s=time.time() + (self._term_s if term_s is None else term_s),
                inode=self.owner.inode if inode is None else inode,
            )
            side.write(self.owner)

    def release(self) -> None:
        """Let the next one in. In a child that was forked, and when it was lost: nothing."""
        with contextlib.suppress(OSError, Held), _locked(self.side_file, create=False) as side:
            if side is None or not self._is_in(side.read()):
                return
            if self._stays or not side.has_locks:
                side.write(replace(self.owner, until_s=0.0, inode=0))
            else:
                os.unlink(self.side_file)  # noqa: PTH108

    def _is_in(self, found: Owner | None) -> bool:
        """Whether the record is of this very taking, and we are the process that took it."""
        return self.owner.is_same_taking(found) and os.getpid() == self._pid

    def __enter__(self) -> Lease:  # noqa: PYI034 - typing.Self is younger than some tasks
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


def take(
    path: str | os.PathLike[str],
    *,
    task: str,
    term_s: float = TERM_S,
    token_min: int = 0,
    stays: bool = True,
    counts: Callable[[Owner], bool] | None = None,
) -> Lease:
    """Become the owner; Held when somebody else is. The token is above `token_min` and all before.

    `stays` keeps the side file after the release, and with it the count of tokens; without it,
    tokens go on by the clock. `counts` tells whether an owner must be respected; without it,
    `is_held` does.
    """
    side_file = side_file_of(path)
    with _locked(side_file, create=True, like=path) as side:
        assert side is not None
        before = side.read()
        if before is not None and (counts or is_held)(before):
            raise held(str(path), before)
        last = max(before.token if before else 0, token_min, 0 if stays else _clock_token())
        owner = myself(task, token=last + 1, term_s=term_s)
        side.write(owner, sync=True)
        if not side.has_locks:
            _settle(path, side, owner)
    return Lease(side_file, owner, term_s=term_s, stays=stays)


def owner_of(path: str | os.PathLike[str]) -> Owner | None:
    """Who holds it now, if anybody does."""
    return _owner_at(side_file_of(path))


def owners_in(folder: str) -> list[Owner]:
    """Who holds anything in a folder."""
    try:
        names = sorted(os.listdir(folder))  # noqa: PTH208
    except OSError:
        return []
    sides = [name for name in names if name.endswith(SUFFIX)][:SIDE_FILES_MAX]
    found = [_owner_at(os.path.join(folder, name)) for name in sides]  # noqa: PTH118
    return [owner for owner in found if owner is not None]


def _owner_at(side_file: str) -> Owner | None:
    try:
        with open(side_file, "rb") as file:  # noqa: PTH123
            found = owner_in(file.read(RECORD_BYTES))
    except OSError:
        return None
    return found if found is not None and is_held(found) else None


class _SideFile:
    """The side file while it is locked by us."""

    def __init__(self, fd: int, *, has_locks: bool) -> None:
        self._fd = fd
        self.has_locks = has_locks

    def read(self) -> Owner | None:
        return owner_in(os.pread(self._fd, RECORD_BYTES, 0))

    def write(self, owner: Owner, *, sync: bool = False) -> None:
        """`sync`: the count of tokens outlives a power loss. Other hosts see it without that."""
        record = record_of(owner)
        if os.pwrite(self._fd, record, 0) != len(record):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        if sync:
            os.fsync(self._fd)


@contextlib.contextmanager
def _locked(
    side_file: str, *, create: bool, like: str | os.PathLike[str] = ""
) -> Iterator[_SideFile | None]:
    """The side file under its flock, and only while the path names it; None where there is none."""
    until_s = time.monotonic() + WAIT_FOR_FLOCK_S
    while True:
        with _no_fork:
            fd = _open(side_file, create=create, like=like)
            if fd is None:
                yield None
                return
            try:
                has_locks = _flock(fd)
                if has_locks is not None and _is_still(fd, side_file):
                    yield _SideFile(fd, has_locks=has_locks)
                    return
                found = owner_in(os.pread(fd, RECORD_BYTES, 0))
            finally:
                os.close(fd)
        if time.monotonic() > until_s:
            raise held(side_file, found)
        time.sleep(LOOK_AGAIN_S)


def _open(side_file: str, *, create: bool, like: str | os.PathLike[str]) -> int | None:
    """Whoever may write the file may write its side file: it has the same rights."""
    flags = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        return os.open(side_file, flags)
    except FileNotFoundError:
        if not create:
            return None
    fd = os.open(side_file, flags | os.O_CREAT, 0o666)
    with contextlib.suppress(OSError):
        os.fchmod(fd, os.stat(like).st_mode & 0o666 | 0o600)  # noqa: PTH116
    return fd


def _flock(fd: int) -> bool | None:
    """False: this file system has no locks at all. None: somebody else has it."""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return None
    except OSError as error:
        if error.errno == errno.ESTALE:
            return None  # removed by another host
        if error.errno in NO_LOCKS:
            return False
        raise
    return True


def _is_still(fd: int, side_file: str) -> bool:
    """Whoever had the lock before us may have removed it: then ours is on a nameless file.

    The path is opened, not asked for by stat: network file systems answer that from memory.
    """
    try:
        named = os.open(side_file, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        return False
    try:
        there, mine = os.fstat(named), os.fstat(fd)
    except OSError as error:
        if error.errno == errno.ESTALE:
            return False
        raise
    finally:
        os.close(named)
    return (there.st_dev, there.st_ino) == (mine.st_dev, mine.st_ino)


def _settle(path: str | os.PathLike[str], side: _SideFile, owner: Owner) -> None:
    """Without locks two may take it in one moment: the one who wrote last has it."""
    time.sleep(SETTLE_S)
    found = side.read()
    if not owner.is_same_taking(found):
        raise held(str(path), found)


def _clock_token() -> int:
    """Higher than any before it, though the side file that counted them is gone."""
    return time.time_ns() // 1_000

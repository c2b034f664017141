"""Who may write a file: one owner at a time, kept in a side file that other hosts see, too.

The side file of `all.h5` is `.all.h5.holdfast-lease`. It is read and written under a short flock.
An owner on this host is asked for by pid and start time, and a dead one is followed at once; one
that we cannot ask (another host, another container) is respected until its time has run out. The
token grows with every change of owner as long as the side file is there.

This file needs nothing but Python: the guard takes it into tasks where Holdfast is not installed.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import socket
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

if __name__.startswith("holdfast."):
    from holdfast.rows.errors import Held
else:  # taken along into a task, without the rest

    class Held(Exception):  # type: ignore[no-redef]  # noqa: N818 - reads as what it says
        def __init__(self, message: str, *, do: str = "", **owner: object) -> None:
            super().__init__("%s; %s" % (message, do) if do else message)  # noqa: UP031
            self.message = message
            self.do = do
            self.__dict__.update(owner)


__all__ = ["Held", "Lease", "Owner", "held", "is_held", "owner_of", "side_file_of", "take"]

SUFFIX = ".holdfast-lease"
TERM_S = 600.0
CLOCKS_APART_S = 60.0  # how far two hosts' clocks may differ
WAIT_FOR_FLOCK_S = 10.0
LOOK_AGAIN_S = 0.005
RECORD_BYTES = 4096  # one write of one size: a reader sees the old record or the new one
TEXT_MAX = 100
SETTLE_S = 0.2  # without locks: how long we wait for another one who took it in the same moment
NO_LOCKS = frozenset({errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL, 524})


@dataclass(frozen=True)
class Owner:
    """Who holds a lease. `began` is the start of the process in ticks since the boot."""

    host: str
    pid: int
    task: str
    since: str  # ISO 8601, UTC
    until_s: float  # Unix time; nobody has to respect it longer
    token: int
    boot: str
    pid_space: str
    began: int
    inode: int = 0  # of the file, once it is open; 0 means for whatever has the name


class Lease:
    """Held from `take` until `release`; a file system that loses it is found by `check`."""

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
                found = _owner_in(file.read(RECORD_BYTES))
        except OSError:
            return False
        return found is not None and found.token == self.token and time.time() < found.until_s

    @contextlib.contextmanager
    def only_us(self) -> Iterator[None]:
        """While this goes on nobody can take it over; Held if somebody has, or its time is over."""
        with _opened(self.side_file, create=False) as fd:
            found = _owner_in(os.pread(fd, RECORD_BYTES, 0)) if fd is not None else None
            if found is None or found.token != self.token or time.time() >= found.until_s:
                raise held(self.side_file, found)
            yield

    def renew(self, *, inode: int | None = None) -> None:
        """Count its time from now; Held if somebody has taken it over."""
        with _opened(self.side_file, create=False) as fd:
            found = _owner_in(os.pread(fd, RECORD_BYTES, 0)) if fd is not None else None
            if fd is None or found is None or found.token != self.token:
                raise held(self.side_file, found)
            self.owner = _with(
                self.owner,
                until_s=time.time() + self._term_s,
                inode=self.owner.inode if inode is None else inode,
            )
            _write(fd, self.owner)

    def release(self) -> None:
        """Let the next one in. In a child that was forked, and when it was lost: nothing."""
        if os.getpid() != self._pid:
            return
        with contextlib.suppress(OSError), _opened(self.side_file, create=False) as fd:
            if fd is None:
                return
            found = _owner_in(os.pread(fd, RECORD_BYTES, 0))
            if found is None or found.token != self.token:
                return
            if self._stays:
                _write(fd, _with(self.owner, until_s=0.0, inode=0))
            else:
                os.unlink(self.side_file)  # noqa: PTH108

    def __enter__(self) -> Lease:  # noqa: PYI034 - typing.Self is younger than some tasks
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


def side_file_of(path: str | os.PathLike[str]) -> str:
    """The lease's place: beside the file itself, not beside a symbolic link to it."""
    folder, name = os.path.split(os.path.realpath(path))
    return os.path.join(folder, "." + name + SUFFIX)  # noqa: PTH118


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

    `stays` keeps the side file after the release, and with it the count of tokens. `counts`
    tells whether an owner must be respected; without it, `is_held` does.
    """
    side_file = side_file_of(path)
    with _opened(side_file, create=True) as fd:
        assert fd is not None
        before = _owner_in(os.pread(fd, RECORD_BYTES, 0))
        if before is not None and (counts or is_held)(before):
            raise held(str(path), before)
        token = max(before.token if before else 0, token_min) + 1
        owner = _myself(task, token=token, term_s=term_s)
        _write(fd, owner)
        if not _flock(fd, side_file, 0.0):
            _settle(path, fd, owner)
    return Lease(side_file, owner, term_s=term_s, stays=stays)


def owner_of(path: str | os.PathLike[str]) -> Owner | None:
    """Who holds it now, if anybody does."""
    try:
        with open(side_file_of(path), "rb") as file:  # noqa: PTH123
            found = _owner_in(file.read(RECORD_BYTES))
    except OSError:
        return None
    return found if found is not None and is_held(found) else None


def is_held(owner: Owner) -> bool:
    """Alive where we can look; where we cannot, until its time has run out."""
    if owner.until_s <= 0:
        return False
    if (owner.boot, owner.pid_space) == (boot_id(), pid_space()):
        return process_began(owner.pid) == owner.began
    if owner.host == socket.gethostname() and owner.boot != boot_id():
        return False  # this very host, started anew since
    return time.time() < owner.until_s + CLOCKS_APART_S


def boot_id() -> str:
    return _read_text("/proc/sys/kernel/random/boot_id").strip()


def pid_space() -> str:
    """Numbers of processes mean something only inside of one such space."""
    try:
        return os.readlink("/proc/self/ns/pid")  # noqa: PTH115
    except OSError:
        return ""


def process_began(pid: int) -> int | None:
    """The start of a process in ticks; None when there is none, or only what is left of it."""
    text = _read_text("/proc/%d/stat" % pid)  # noqa: UP031
    fields = text.rpartition(")")[2].split()
    if len(fields) < 20 or fields[0] in ("Z", "X"):  # noqa: PLR2004 - proc(5)
        return None
    return int(fields[19])


def held(path: str, owner: Owner | None) -> Held:
    """The sentence that says who holds a file."""
    if owner is None:
        return Held(
            "%s: the lease is lost: somebody has removed its side file" % path,  # noqa: UP031
            do="let nobody delete files that end in " + SUFFIX,
            host="",
            pid=0,
            task="",
            since="",
        )
    who = "%s (pid %d on %s)" % (owner.task, owner.pid, owner.host)  # noqa: UP031
    here = (owner.boot, owner.pid_space) == (boot_id(), pid_space())
    side = path if path.endswith(SUFFIX) else side_file_of(path)
    return Held(
        "%s is held for writing by %s since %s" % (path, who, owner.since),  # noqa: UP031
        do="let one task write it, or give each its own file"
        + ("" if here else "; if that host is gone, remove " + side),
        host=owner.host,
        pid=owner.pid,
        task=owner.task,
        since=owner.since,
    )


def seen_from_outside(pid: int) -> Owner:
    """A process that has a file open without a lease, as far as others can see it."""
    words = _read_text("/proc/%d/cmdline" % pid).split("\0")  # noqa: UP031
    now = time.time()
    return Owner(
        host=socket.gethostname()[:TEXT_MAX],
        pid=pid,
        task=" ".join(words).strip()[:TEXT_MAX] or "a program",
        since="before " + time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(now)),
        until_s=now + TERM_S,
        token=0,
        boot=boot_id(),
        pid_space=pid_space(),
        began=process_began(pid) or 0,
    )


def _myself(task: str, *, token: int, term_s: float) -> Owner:
    pid = os.getpid()
    now = time.time()
    since = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(now))
    began = process_began(pid)
    return Owner(
        host=socket.gethostname()[:TEXT_MAX],
        pid=pid,
        task=task[:TEXT_MAX] or "a program",
        since=since,
        until_s=now + term_s,
        token=token,
        boot=boot_id(),
        pid_space=pid_space(),
        began=-1 if began is None else began,
    )


@contextlib.contextmanager
def _opened(side_file: str, *, create: bool) -> Iterator[int | None]:
    """The side file under its flock; the file that has the name once the lock is ours."""
    until_s = time.monotonic() + WAIT_FOR_FLOCK_S
    while True:
        flags = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | (os.O_CREAT if create else 0)
        try:
            fd = os.open(side_file, flags, 0o644)
        except FileNotFoundError:
            if create:
                raise
            yield None
            return
        try:
            _flock(fd, side_file, until_s)
            if _is_still(fd, side_file):
                yield fd
                return
        finally:
            os.close(fd)


def _flock(fd: int, side_file: str, until_s: float) -> bool:
    """Whether this file system has locks at all; Held when somebody keeps it too long."""
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > until_s:
                raise held(side_file, _owner_in(os.pread(fd, RECORD_BYTES, 0))) from None
            time.sleep(LOOK_AGAIN_S)
        except OSError as error:
            if error.errno in NO_LOCKS:
                return False
            raise
        else:
            return True


def _settle(path: str | os.PathLike[str], fd: int, owner: Owner) -> None:
    """Without locks two may take it in one moment: the one who wrote last has it."""
    time.sleep(SETTLE_S)
    found = _owner_in(os.pread(fd, RECORD_BYTES, 0))
    if found != owner:
        raise held(str(path), found)


def _is_still(fd: int, side_file: str) -> bool:
    """Whoever held it before us may have removed it: then our lock is on a nameless file."""
    try:
        named = os.stat(side_file, follow_symlinks=False)  # noqa: PTH116
    except FileNotFoundError:
        return False
    mine = os.fstat(fd)
    return (named.st_dev, named.st_ino) == (mine.st_dev, mine.st_ino)


def _write(fd: int, owner: Owner) -> None:
    record = json.dumps(asdict(owner)).encode().ljust(RECORD_BYTES - 1) + b"\n"
    os.pwrite(fd, record, 0)
    os.fsync(fd)


def _owner_in(record: bytes) -> Owner | None:
    """A record that is torn or somebody else's text names nobody."""
    try:
        found: Any = json.loads(record)
        return Owner(
            host=str(found["host"])[:TEXT_MAX],
            pid=int(found["pid"]),
            task=str(found["task"])[:TEXT_MAX],
            since=str(found["since"])[:TEXT_MAX],
            until_s=float(found["until_s"]),
            token=int(found["token"]),
            boot=str(found["boot"]),
            pid_space=str(found["pid_space"]),
            began=int(found["began"]),
            inode=int(found.get("inode", 0)),
        )
    except (ValueError, KeyError, TypeError):
        return None


def _with(owner: Owner, *, until_s: float, inode: int) -> Owner:
    return Owner(**{**asdict(owner), "until_s": until_s, "inode": inode})


def _read_text(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:  # noqa: PTH123
            return file.read(4096)
    except OSError:
        return ""

"""Who may write for a job: the newest incarnation. An older one that comes back may not.

A task that was given up may only have been cut off, stopped or swapped out. When it comes back,
another one trains in its place, and both would write the same checkpoints. So every attempt, and
every restart of a task, holds a fence in the run directory, and whoever writes asks first.

A fence is a file with one line of JSON. Writers share a lock on it while they write, and who
advances it needs the lock alone: once `hold` has returned, no older incarnation is in the middle
of a write, and none can begin one. Where a file system has no locks, only the question remains.
"""

import errno
import fcntl
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from holdfast.logdir import private_files as private
from holdfast.logdir.private_files import write_errors
from holdfast.model.cluster import TaskId, is_plain_name
from holdfast.model.errors import BadInput, NotOurs

FOLDER = "fences"
ALL = "job"  # the fence of all tasks together
WRITERS_S = 5.0  # how long who writes may take to end it
LOOK_AGAIN_S = 0.02
RECORD_BYTES_MAX = 256
INCARNATION_MAX = 1 << 53
NO_LOCKS = frozenset({errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL})


class Outdated(NotOurs):
    """A newer incarnation writes by now."""


class Busy(NotOurs):
    """An older incarnation is in the middle of a write, and does not end it."""


@dataclass(frozen=True, slots=True, order=True)
class Token:
    """What an incarnation must show: the attempt, and which start of the task within it."""

    attempt: int
    incarnation: int = 1


def hold(
    run_dir: Path, attempt: int, *, task: TaskId | None = None, wait_s: float = WRITERS_S
) -> Token:
    """From now on only the returned token may write. Never for an attempt that is over.

    Of one attempt, each call is a new incarnation. `task` holds a fence for that task alone.
    """
    if not 1 <= attempt <= INCARNATION_MAX:
        raise ValueError(f"there is no attempt {attempt}")
    path = _path(run_dir, task)
    with write_errors(str(path)):
        _make_folder(path.parent)
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, private.FILE_MODE)
        try:
            _lock(fd, path, fcntl.LOCK_EX, wait_s)
            held = _read(fd, path)
            if held is not None and attempt < held.attempt:
                raise Outdated(
                    f"attempt {attempt} may not write: attempt {held.attempt} has begun",
                    do="end this process",
                )
            again = held is not None and held.attempt == attempt
            token = Token(attempt, held.incarnation + 1 if held is not None and again else 1)
            _write(fd, token)
        finally:
            os.close(fd)
    return token


def is_current(run_dir: Path, token: Token, *, task: TaskId | None = None) -> bool:
    """Whether this incarnation may still write; what nobody holds, nobody guards.

    The answer may be old by the time it is used: who writes does so within `writing`.
    """
    for whose in {None, task}:
        held = _held(_path(run_dir, whose))
        if held is None:
            continue
        newer = held.attempt > token.attempt if whose is None and task else held > token
        if newer:
            return False
    return True


@contextmanager
def writing(
    run_dir: Path, token: Token, *, task: TaskId | None = None, wait_s: float = WRITERS_S
) -> Iterator[None]:
    """While this goes on, no newer incarnation takes over; Outdated, if one has."""
    fds: list[int] = []
    try:
        for whose in (None, task) if task else (None,):
            path = _path(run_dir, whose)
            with suppress(FileNotFoundError):
                fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
                fds.append(fd)
                _lock(fd, path, fcntl.LOCK_SH, wait_s)
        if not is_current(run_dir, token, task=task):
            raise Outdated(
                f"incarnation {token.incarnation} of attempt {token.attempt} may not write:"
                " a newer one does",
                do="end this process",
            )
        yield
    finally:
        for fd in fds:
            os.close(fd)


def _path(run_dir: Path, task: TaskId | None) -> Path:
    if task is None:
        return run_dir / FOLDER / ALL
    if not is_plain_name(task.role) or task.index < 0:
        raise ValueError(f"no fence can be named after {task}")
    return run_dir / FOLDER / f"{task.role}-{task.index}"


def _make_folder(folder: Path) -> None:
    with suppress(FileExistsError):
        private.make_folder(str(folder))


def _lock(fd: int, path: Path, how: int, wait_s: float) -> None:
    """Without locks, the question whether one is current is all there is."""
    until_s = time.monotonic() + wait_s
    while True:
        try:
            fcntl.flock(fd, how | fcntl.LOCK_NB)
        except BlockingIOError as error:
            if time.monotonic() >= until_s:
                raise Busy(
                    f"somebody else holds {path} for more than {wait_s:g} s",
                    do="end the task that was given up, then try again",
                ) from error
            time.sleep(LOOK_AGAIN_S)
        except OSError as error:
            if error.errno not in NO_LOCKS:
                raise
            return
        else:
            return


def _held(path: Path) -> Token | None:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        return _read(fd, path)
    finally:
        os.close(fd)


def _read(fd: int, path: Path) -> Token | None:
    """None: it was made just now, and nobody holds it yet."""
    text = os.pread(fd, RECORD_BYTES_MAX, 0)
    if not text.strip(b"\0 \n"):
        return None
    try:
        record = json.loads(text)
        token = Token(record["attempt"], record["incarnation"])
        if all(0 < number <= INCARNATION_MAX for number in (token.attempt, token.incarnation)):
            return token
    except (ValueError, TypeError, KeyError):
        pass
    raise BadInput(f"{path} is no fence", do="was it edited by hand? remove it when no task runs")


def _write(fd: int, token: Token) -> None:
    """One write of one size: a reader sees the old record or the new one."""
    record = {"attempt": token.attempt, "incarnation": token.incarnation}
    os.pwrite(fd, json.dumps(record).encode().ljust(RECORD_BYTES_MAX - 1) + b"\n", 0)
    os.fsync(fd)

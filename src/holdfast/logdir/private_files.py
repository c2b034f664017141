"""Opening files so that no link is followed, none but us may read them, and errors are ours."""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from holdfast.model.errors import (
    BadInput,
    Forbidden,
    HoldfastError,
    MissingInput,
    NotOurs,
    StorageFailed,
)

FILE_MODE = 0o600
FOLDER_MODE = 0o700
_MODE_BITS = 0o777
# O_NONBLOCK: a FIFO planted under our name must not make the open wait for its other end.
_SAFELY = os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
_RIGHTS_MISSING = frozenset({errno.EACCES, errno.EPERM})
_SOMETHING_ELSE_THERE = frozenset(
    {errno.EEXIST, errno.ELOOP, errno.ENOTDIR, errno.EISDIR, errno.ENXIO, errno.ENOTEMPTY}
)
_DISK_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})


@contextmanager
def write_errors(place: str) -> Iterator[None]:
    """An OSError while writing `place` becomes one of ours."""
    try:
        yield
    except OSError as error:
        raise write_error(error, place) from error


@contextmanager
def read_errors(place: str) -> Iterator[None]:
    """An OSError while reading `place` becomes one of ours."""
    try:
        yield
    except OSError as error:
        raise _read_error(error, place) from error


def write_error(error: OSError, place: str) -> HoldfastError:
    says = f"cannot write {place}: {os.strerror(error.errno or 0)}"
    if error.errno in _RIGHTS_MISSING:
        return Forbidden(says, do="choose a run directory that you may write, or ask its owner")
    if error.errno in _SOMETHING_ELSE_THERE:
        return NotOurs(
            f"cannot write {place}: something that is not ours is there already",
            do="look at it, then move it away or choose another run directory",
        )
    if error.errno in _DISK_FULL:
        return StorageFailed(says, do="free some space, or choose a run directory on another disk")
    return StorageFailed(says, do="look at the disk (dmesg), or choose another run directory")


def _read_error(error: OSError, place: str) -> HoldfastError:
    says = f"cannot read {place}: {os.strerror(error.errno or 0)}"
    if error.errno == errno.ENOENT:
        return MissingInput(f"there is no {place}", do="check the path of the run directory")
    if error.errno in _RIGHTS_MISSING:
        return Forbidden(says, do="run this as the user who started the job")
    if error.errno in _SOMETHING_ELSE_THERE:
        return BadInput(
            f"{place} is not a plain file or folder of a run", do="check the run directory"
        )
    return StorageFailed(says, do="look at the disk (dmesg), or copy the run directory elsewhere")


def create_file(name: str, *, flags: int, dir_fd: int) -> int:
    """A new file that only we may read, whatever the umask; fails if the name is taken."""
    fd = os.open(name, flags | os.O_CREAT | os.O_EXCL | _SAFELY, FILE_MODE, dir_fd=dir_fd)
    os.fchmod(fd, FILE_MODE)
    os.set_blocking(fd, True)
    return fd


def open_for_append(name: str, *, dir_fd: int) -> int:
    """An existing file of ours, or a new one. Refuses whatever could lead out of the folder."""
    try:
        return create_file(name, flags=os.O_WRONLY | os.O_APPEND, dir_fd=dir_fd)
    except FileExistsError:
        fd = os.open(name, os.O_WRONLY | os.O_APPEND | _SAFELY, dir_fd=dir_fd)
    return _only_plain(fd, name, links_max=1)


def open_for_reading(name: str, *, dir_fd: int) -> int:
    fd = os.open(name, os.O_RDONLY | _SAFELY, dir_fd=dir_fd)
    # A run that was archived with hard links is still good to read.
    return _only_plain(fd, name, links_max=None)


def open_folder_at(name: str, *, dir_fd: int) -> int:
    return os.open(name, os.O_RDONLY | os.O_DIRECTORY | _SAFELY, dir_fd=dir_fd)


def make_folder(name: str, *, dir_fd: int | None = None) -> None:
    """A new folder that only we may enter, whatever the umask."""
    os.mkdir(name, FOLDER_MODE, dir_fd=dir_fd)
    # With a umask like 0777 we may not even open our own folder: O_PATH needs no right to it.
    fd = os.open(name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=dir_fd)
    try:
        mode = stat.S_IMODE(os.fstat(fd).st_mode)
        if mode & _MODE_BITS != FOLDER_MODE:
            os.chmod(f"/proc/self/fd/{fd}", (mode & ~_MODE_BITS) | FOLDER_MODE)  # noqa: PTH101
    finally:
        os.close(fd)


def refuse_unless_plain(name: str, *, dir_fd: int) -> bool:
    """Whether the name is taken; FileExistsError if by anything but a file with this one name."""
    try:
        found = os.stat(name, dir_fd=dir_fd, follow_symlinks=False)
    except FileNotFoundError:
        return False
    if not stat.S_ISREG(found.st_mode) or found.st_nlink > 1:
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), name)
    return True


def write_whole(fd: int, content: bytes) -> None:
    """Append all of it with one write, or leave the file as it was. We are its only writer."""
    end = os.fstat(fd).st_size
    try:
        # A write is cut short only by a full disk: asking again yields the reason.
        written = os.write(fd, content)
        while written < len(content):
            written += os.write(fd, content[written:])
    except OSError:
        with suppress(OSError):
            os.ftruncate(fd, end)
        raise


def _only_plain(fd: int, name: str, *, links_max: int | None) -> int:
    found = os.fstat(fd)
    if not stat.S_ISREG(found.st_mode) or (links_max and found.st_nlink > links_max):
        os.close(fd)
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), name)
    os.set_blocking(fd, True)
    return fd

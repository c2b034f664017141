"""Who writes a journal holds its lock: one process, as long as it lives."""

import errno
import fcntl
import os

from holdfast.logdir import private_files as private
from holdfast.logdir.private_files import write_errors
from holdfast.logdir.run_dir import RunDir
from holdfast.model.errors import NotOurs, StorageFailed

_LOCK = "journal.lock"
_NO_LOCKS_HERE = frozenset({errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP, errno.EINVAL})


def is_being_written(run_dir: RunDir) -> bool:
    """Whether somebody holds the journal: a run that is under way, not one that broke off."""
    try:
        fd = os.open(_LOCK, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=run_dir.fd)
    except OSError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        os.close(fd)
    return False


def lock_journal(run_dir: RunDir) -> int:
    """Held as long as the descriptor is open; the kernel drops it when we die."""
    with write_errors(run_dir.place(_LOCK)):
        fd = private.open_for_append(_LOCK, dir_fd=run_dir.fd)
    try:
        # On NFS the kernel turns this into a lock that all hosts see.
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(fd)
        if error.errno in _NO_LOCKS_HERE:
            raise StorageFailed(
                f"{run_dir.path} lies on a file system without locks",
                do="mount it with locks (Lustre: -o flock), or choose another run directory",
            ) from error
        raise NotOurs(
            f"another process writes the journal in {run_dir.path}",
            do="stop that run first, or choose another run directory",
        ) from error
    return fd

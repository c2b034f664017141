"""Locks on the file itself, whatever name it has: a renamed or linked file has the same writer.

Two bytes far behind the end of any file are locked, and belong to an open file, not to a process
(open file description locks of Linux). The kernel lets go of them when that open file is closed in
whatever way, or its last process is gone.

Only on file systems where such a lock and HDF5's own flock do not meet: NFS makes one of both, and
HDF5 would be kept out by us. The guard takes this file into tasks where Holdfast is not installed.
"""

from __future__ import annotations

import errno
import fcntl
import os
import struct
import sys
import time
from pathlib import Path

from .mounts import mount_of

OPENING = 1 << 62  # held by whoever is about to open it for writing
OPEN = OPENING + 1  # held on the writer's own descriptor as long as it is open
APART = frozenset(
    "bcachefs btrfs ext2 ext3 ext4 f2fs jfs overlay ramfs tmpfs xfs zfs".split()  # noqa: SIM905
)
SET_OF_OPEN_FILE = 37  # F_OFD_SETLK, which Python names since 3.9
LOOK_AGAIN_S = 0.002
_works: dict[int, bool] = {}  # by device


def works_on(fd: int, path: str) -> bool:
    """Whether files there can be locked so."""
    device = os.fstat(fd).st_dev
    if device not in _works:
        apart = sys.platform == "linux" and mount_of(Path(path))[0] in APART
        _works[device] = apart and struct.calcsize("P") == 8  # noqa: PLR2004 - struct flock of 64 bits
    return _works[device]


def lock(fd: int, byte: int, *, wait_s: float = 0.0) -> bool:
    """Whether it is ours now; it was somebody else's all the time, if not."""
    until_s = time.monotonic() + wait_s
    while not _set(fd, byte, fcntl.F_WRLCK):
        if time.monotonic() >= until_s:
            return False
        time.sleep(LOOK_AGAIN_S)
    return True


def is_free(fd: int, byte: int) -> bool:
    """Whether nobody else has it locked; to be asked by who has locked OPENING."""
    if not _set(fd, byte, fcntl.F_WRLCK):
        return False
    _set(fd, byte, fcntl.F_UNLCK)
    return True


def _set(fd: int, byte: int, kind: int) -> bool:
    asked = struct.pack("hhqqi4x", kind, os.SEEK_SET, byte, 1, 0)
    try:
        fcntl.fcntl(fd, SET_OF_OPEN_FILE, asked)
    except OSError as error:
        if error.errno in (errno.EAGAIN, errno.EACCES):
            return False
        if error.errno in (errno.EINVAL, errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP):
            return True  # there are no such locks after all: the side file alone decides
        raise
    return True

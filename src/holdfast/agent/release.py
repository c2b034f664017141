"""Bounded output: the oldest bytes of a log go back to the disk, behind its reader."""

import ctypes
import os

BLOCK_BYTES = 4096
_PUNCH_HOLE = 0x02
_KEEP_SIZE = 0x01


def release(fd: int, start: int, until: int) -> None:
    """Free the blocks of [start, until): they read as zeros, and every offset stays valid.

    The task goes on writing at the end of the same file, so nothing is rotated under it.
    """
    writable = os.open(f"/proc/self/fd/{fd}", os.O_WRONLY | os.O_CLOEXEC)
    try:
        libc = ctypes.CDLL(None, use_errno=True)
        libc.fallocate64.argtypes = (ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64)
        mode = _PUNCH_HOLE | _KEEP_SIZE
        if libc.fallocate64(writable, mode, start, until - start) != 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))
    finally:
        os.close(writable)


def releasable(*, read_to: int, released: int, keep_bytes: int) -> int:
    """Up to where bytes may go now, in whole blocks; `released` when it is not worth it yet."""
    until = max(0, read_to - keep_bytes) // BLOCK_BYTES * BLOCK_BYTES
    worth_it = until - released >= max(keep_bytes // 4, BLOCK_BYTES)
    return until if worth_it else released

"""What kind of file is this? Read from its first bytes and its length, nothing else."""

import os
import stat
import struct
from dataclasses import dataclass
from pathlib import Path

SIGNATURE = b"\x89HDF\r\n\x1a\n"
WHOLE, TRUNCATED, DIRTY, DAMAGED = "whole", "truncated", "dirty", "damaged"
EMPTY, TEXT, FOREIGN = "empty", "text", "foreign"
_HEAD_BYTES = 4096
_USER_BLOCKS_TRIED = 32  # 512 bytes, 1 kB, 2 kB … as far as a file could be long
_SWMR = 4
_KNOWN = {
    b"PK\x03\x04": "a ZIP archive (a .keras file is one: Keras reads it)",
    b"\x1f\x8b": "compressed with gzip: gunzip it first",
    b"BZh": "compressed with bzip2: bunzip2 it first",
    b"\xfd7zXZ": "compressed with xz: unxz it first",
    b"\x28\xb5\x2f\xfd": "compressed with zstd: unzstd it first",
    b"CDF\x01": "a NetCDF classic file",
    b"CDF\x02": "a NetCDF classic file",
    b"\x0e\x03\x13\x01": "an HDF4 file: h4toh5 makes HDF5 of it",
    b"PAR1": "a Parquet file",
    b"ARROW1": "an Arrow file",
    b"\x93NUMPY": "a NumPy file: numpy.load reads it",
    b"HFR1": "a log of rows: rescue the log directory that it lies in",
    b"\x7fELF": "a program",
    b"SQLite format 3": "an SQLite database",
}
_TEXTS = {
    b"version https://git-lfs": "a Git LFS pointer: git lfs pull gets the file",
    b"<!DOCTYPE": "a web page: the download went wrong",
    b"<!doctype": "a web page: the download went wrong",
    b"<html": "a web page: the download went wrong",
    b"<?xml": "XML, perhaps an error of an object store: the download went wrong",
}


@dataclass(frozen=True)
class Look:
    """`kind` is one of the words above; `says` goes into the report."""

    kind: str
    says: str
    size_bytes: int
    at: int = 0  # where the signature is: behind a user block, not 0
    base: int = 0  # added to every address
    version: int = -1
    stored_eof: int = 0

    @property
    def is_hdf5(self) -> bool:
        return self.kind in (WHOLE, TRUNCATED, DIRTY, DAMAGED)


def look(path: Path) -> Look:
    """FileNotFoundError and its kin where there is nothing to read."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        known = os.fstat(fd)
        if not stat.S_ISREG(known.st_mode):
            return Look(FOREIGN, "it is no regular file", 0)
        size_bytes = known.st_size
        head = os.pread(fd, _HEAD_BYTES, 0)
        if not size_bytes:
            return Look(EMPTY, "it is empty: 0 bytes, nothing was ever written to it", 0)
        at = _signature(fd, size_bytes)
        if at is None:
            return _without_signature(head, size_bytes)
        return _superblock(os.pread(fd, 128, at), at, size_bytes)
    finally:
        os.close(fd)


def _signature(fd: int, size_bytes: int) -> int | None:
    """HDF5 looks for it at 0 and at every power of two from 512 on."""
    for number in range(_USER_BLOCKS_TRIED):
        at = 256 << number if number else 0
        if at >= size_bytes:
            return None
        if os.pread(fd, len(SIGNATURE), at) == SIGNATURE:
            return at
    return None


def _without_signature(head: bytes, size_bytes: int) -> Look:
    for start, says in _KNOWN.items():
        if head.startswith(start):
            return Look(FOREIGN, f"it is no HDF5 file but {says}", size_bytes)
    text = head.lstrip()
    for start, says in _TEXTS.items():
        if text.startswith(start):
            return Look(TEXT, f"it is no HDF5 file but {says}", size_bytes)
    if not head.strip(b"\0"):
        return Look(
            FOREIGN, "it begins with zero bytes: room was made, and nothing written", size_bytes
        )
    if _is_text(head):
        return Look(TEXT, "it is text, no HDF5 file", size_bytes)
    if _is_near(head):
        return Look(DAMAGED, "its signature is damaged, and most of it looks like HDF5", size_bytes)
    return Look(
        FOREIGN, "it has no HDF5 signature: another format, or its start is lost", size_bytes
    )


def _is_text(head: bytes) -> bool:
    try:
        text = head.decode()
    except UnicodeDecodeError as error:
        text = head[: error.start].decode() if error.start > len(head) - 4 else "\0"
    return all(letter.isprintable() or letter in "\t\r\n\f" for letter in text)


def _is_near(head: bytes) -> bool:
    """A flipped bit in the signature, or the first bytes overwritten."""
    same = sum(one == other for one, other in zip(head, SIGNATURE, strict=False))
    return same >= len(SIGNATURE) - 2


def _superblock(block: bytes, at: int, size_bytes: int) -> Look:
    version = block[8] if len(block) > 8 else -1  # noqa: PLR2004
    try:
        if version in (0, 1):
            where = 24 + 4 * version
            base, _, eof = struct.unpack_from("<QQQ", block, where)
            offsets, flags = block[13], 0
        elif version in (2, 3):
            base, _, eof = struct.unpack_from("<QQQ", block, 12)
            offsets, flags = block[9], block[11] if version == 3 else 0  # noqa: PLR2004
        else:
            says = f"its superblock is of an unknown version, {version}"
            return Look(DAMAGED, says, size_bytes, at)
    except (struct.error, IndexError):
        return Look(TRUNCATED, f"it is cut after {size_bytes} bytes: no superblock", size_bytes, at)
    found = {"size_bytes": size_bytes, "at": at, "base": base, "version": version}
    if offsets != 8:  # noqa: PLR2004 - only very old programs wrote others
        return Look(DAMAGED, f"it has addresses of {offsets} bytes", size_bytes, at, at, version)
    # A file behind a user block may say so, or count from the signature.
    end = eof + (at if base == 0 else 0)
    if flags & 1:
        how = "SWMR" if flags & _SWMR else "writing"
        says = f"its writer ended without closing it: it is still marked as open for {how}"
        return Look(DIRTY, says, stored_eof=end, **found)
    if end > size_bytes:
        says = f"it is cut: {size_bytes} bytes of {end} are there"
        return Look(TRUNCATED, says, stored_eof=end, **found)
    return Look(WHOLE, "it looks whole", stored_eof=end, **found)

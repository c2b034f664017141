"""The members of a zip archive, by the list at its end; nothing of it is written anywhere."""

import io
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator

from holdfast.logs.archive import Member

LIST_BYTES_MAX = 8 << 20  # of all names and places: zipfile holds them in memory
_READ_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_ENCRYPTED = 0x1
# What zipfile raises on bytes that are no archive, its own errors and those it lets through.
_FAULTS = (
    *(zipfile.BadZipFile, zipfile.LargeZipFile, zlib.error, struct.error, EOFError, OSError),
    *(ValueError, LookupError, ArithmeticError, TypeError, NotImplementedError, RuntimeError),
)


class ZipMembers:
    """Iterated once. `why` says what keeps the rest from being read."""

    def __init__(self, fd: int) -> None:
        self.why = ""
        self._file = _Bounded(fd, closefd=False)

    def __iter__(self) -> Iterator[Member]:
        try:
            archive = zipfile.ZipFile(self._file)
        except _FAULTS as error:
            self.why = f"it is damaged or cut off: {_said(error)}"
            return
        with archive:
            for found in archive.infolist():
                if not found.is_dir():
                    yield _member(archive, found)


def _member(archive: zipfile.ZipFile, found: zipfile.ZipInfo) -> Member:
    if why_not := _why_not(found):
        return Member(found.filename, lambda _: b"", lambda: "", why_not)
    fault = ""
    stream: zipfile.ZipExtFile | None = None

    def read(size: int) -> bytes:
        nonlocal fault, stream
        if fault:
            return b""
        try:
            stream = stream or archive.open(found)  # type: ignore[assignment]
            return stream.read(size)  # type: ignore[union-attr]
        except _FAULTS as error:
            fault = f"it is damaged: {_said(error)}"
            return b""

    return Member(found.filename, read, lambda: fault)


def _why_not(found: zipfile.ZipInfo) -> str:
    if found.flag_bits & _ENCRYPTED:
        return "encrypted, and so not read"
    if stat.S_ISLNK(found.external_attr >> 16):
        return "links and devices are not read"
    if found.compress_type not in _READ_METHODS:
        return f"packed with method {found.compress_type}, which is not read (deflate is)"
    return ""


def _said(error: BaseException) -> str:
    return str(error) or type(error).__name__


class _Bounded(io.FileIO):
    """A file of which nobody reads much at once: the list of members is read whole."""

    def read(self, size: int | None = -1, /) -> bytes:
        if size is not None and size > LIST_BYTES_MAX:
            raise zipfile.BadZipFile(f"its list of members is over {LIST_BYTES_MAX >> 20} MiB")
        return super().read(LIST_BYTES_MAX if size is None or size < 0 else size) or b""

"""The members of a tar archive, in their order, from bytes that come only once."""

import tarfile
from collections.abc import Iterator

from holdfast.logs.archive import Member, Read

HEADER_BYTES_MAX = 1 << 20  # names and notes of one member: tarfile holds them in memory
SKIP_BYTES = 1 << 20
# What tarfile raises on bytes that are no archive, its own errors and those it lets through.
_FAULTS = (
    *(tarfile.TarError, ValueError, ArithmeticError, LookupError, TypeError, EOFError),
    *(RecursionError, OSError),
)


class TarMembers:
    """Iterated once. `why` says what keeps the rest from being read."""

    def __init__(self, read: Read) -> None:
        self.why = ""
        self._file = _Forward(read)
        self._tar: tarfile.TarFile | None = None

    def __iter__(self) -> Iterator[Member]:
        while (found := self._next()) is not None:
            if found.isdir():
                continue
            yield self._member(found)

    def _next(self) -> tarfile.TarInfo | None:
        if self.why:
            return None
        self._file.room = HEADER_BYTES_MAX
        try:
            if self._tar is None:
                self._tar = tarfile.TarFile(
                    fileobj=self._file,  # type: ignore[arg-type]
                    encoding="utf-8",
                    errors="surrogateescape",
                )
            found = self._tar.next()
            # Else it holds all of them.
            self._tar.members.clear()  # type: ignore[attr-defined]
        except _FAULTS as error:
            self.why = f"it is damaged or cut off at byte {self._file.tell():,}: {error}"
            return None
        if found is None and self._file.last.strip(b"\0"):
            self.why = f"the header before byte {self._file.tell():,} is damaged"
        elif found is None and not self._file.last:
            self.why = "it ends without an end mark, and may be cut off"
        return found

    def _member(self, found: tarfile.TarInfo) -> Member:
        if not found.isreg():
            return _unread(found, "links and devices are not read")
        if found.issparse():
            return _unread(found, "files with holes are not read (tar them without --sparse)")
        left = found.size

        def read(size: int) -> bytes:
            nonlocal left
            some = self._file.take(min(size, left))
            left -= len(some)
            if left and not some and size:
                self.why = f"it is cut off at byte {self._file.tell():,}"
            return some

        return Member(found.name, read, lambda: self.why)


def _unread(found: tarfile.TarInfo, why_not: str) -> Member:
    return Member(found.name, lambda _: b"", lambda: "", why_not)


class _Forward:
    """Bytes that come once, as tarfile wants to have them: it never goes back."""

    def __init__(self, read: Read) -> None:
        self.room = HEADER_BYTES_MAX
        self.last = b""
        self._read = read
        self._at = 0

    def tell(self) -> int:
        return self._at

    def seek(self, place: int) -> None:
        while self._at < place and self.take(min(SKIP_BYTES, place - self._at)):
            pass

    def read(self, size: int) -> bytes:
        """For headers only."""
        if size > self.room:
            raise tarfile.ReadError(f"a header of more than {HEADER_BYTES_MAX >> 20} MiB")
        self.room -= size
        found = b""
        while len(found) < size and (more := self.take(size - len(found))):
            found += more
        self.last = found
        return found

    def take(self, size: int) -> bytes:
        found = self._read(size) if size > 0 else b""
        self._at += len(found)
        return found

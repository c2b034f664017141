"""An archive of logs: what it is, how much may come out of it, and what was not read of it."""

import tarfile
from collections.abc import Callable
from dataclasses import dataclass, field

from holdfast.logs.unpack import RATIO_FROM_BYTES, RATIO_MAX, UNPACKED_BYTES_MAX

ENTRIES_MAX = 200_000  # folders, links and what is no log count, too
NAME_CHARACTERS_MAX = 400
NAMED_MAX = 3
ENDINGS = (".zip", ".tar", ".tgz", ".tbz2", ".txz", ".7z", ".rar")
ENDINGS_PACKED = (".tar.gz", ".tar.bz2", ".tar.xz", ".tar.zst")
_ZIP_BEGINS = (b"PK\x03\x04", b"PK\x05\x06")

Read = Callable[[int], bytes]


def archive_kind(sample: bytes) -> str:
    """`zip` or `tar` by the first bytes, unpacked; empty: it is no archive. Names lie."""
    if sample.startswith(_ZIP_BEGINS):
        return "zip"
    try:
        tarfile.TarInfo.frombuf(sample[: tarfile.BLOCKSIZE], "utf-8", "surrogateescape")
    except tarfile.TarError:
        return ""
    return "tar"


def is_archive_name(name: str) -> bool:
    return name.lower().endswith((*ENDINGS, *ENDINGS_PACKED))


@dataclass(frozen=True, slots=True)
class Member:
    """One entry of an archive: a file that can be read now, or why it is not."""

    name: str
    read: Read
    fault: Callable[[], str]  # what went wrong while it was read
    why_not: str = ""


@dataclass(slots=True)
class Allowance:
    """How much may come out of all members together; `why` says that it is used up."""

    taken: Callable[[], int]  # bytes of the archive itself
    why: str = ""
    _made: int = 0

    def metered(self, read: Read) -> Read:
        def metered_read(size: int) -> bytes:
            if self.why:
                return b""
            found = read(size)
            self._made += len(found)
            if self._made > UNPACKED_BYTES_MAX:
                self.why = f"it holds more than {UNPACKED_BYTES_MAX >> 30} GiB"
            elif self._made > max(RATIO_FROM_BYTES, RATIO_MAX * self.taken()):
                self.why = f"it unpacks to more than {RATIO_MAX} times its size"
            return found

        return metered_read


@dataclass(slots=True)
class Unread:
    """What was not read, by reason: a few names for each, and how many there are."""

    _few: dict[str, list[str]] = field(default_factory=dict)
    _count: dict[str, int] = field(default_factory=dict)

    def add(self, reason: str, name: str) -> None:
        self._count[reason] = self._count.get(reason, 0) + 1
        few = self._few.setdefault(reason, [])
        if len(few) < NAMED_MAX:
            few.append(name)

    def sentences(self, archive: str) -> list[str]:
        said = []
        for reason, few in self._few.items():
            more = self._count[reason] - len(few)
            rest = f" and {more:,} more" if more else ""
            said.append(f"{archive}: {reason}: {', '.join(few)}{rest}")
        return said


def shown_name(name: str) -> str:
    """A stranger's name as a path that stays within the archive, without control characters."""
    text = name.encode("utf-8", "surrogateescape").decode("utf-8", "replace").replace("\\", "/")
    visible = "".join(mark if mark.isprintable() else "\N{REPLACEMENT CHARACTER}" for mark in text)
    parts = [part for part in visible.split("/") if part not in ("", ".", "..")]
    whole = "/".join(parts) or "(without a name)"
    return whole if len(whole) <= NAME_CHARACTERS_MAX else f"…{whole[-NAME_CHARACTERS_MAX:]}"

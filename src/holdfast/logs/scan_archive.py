"""Scans the members of an archive, one after another, as if each were a file of its own."""

from collections.abc import Iterator

import msgspec

from holdfast.logs.archive import (
    ENTRIES_MAX,
    Allowance,
    Member,
    Unread,
    is_archive_name,
    shown_name,
)
from holdfast.logs.content import Content, Stream
from holdfast.logs.filter import Telling
from holdfast.logs.part import HeardPart, Part
from holdfast.logs.scan import scan
from holdfast.logs.sources import FILES_MAX, SKIPPED_FOLDERS, is_no_log
from holdfast.logs.tar_members import TarMembers
from holdfast.logs.zip_members import ZipMembers

NESTED = "archives in an archive are not read (unpack it once)"
NO_TEXT = "not read, as they are no text"


def scan_archive(part: Part, content: Content, telling: Telling) -> Iterator[HeardPart]:
    """What each member told, and last what there is to say of the archive itself."""
    why_not = _cannot_be_read(part, content)
    if why_not:
        yield HeardPart(part=part, is_archive=True, unknown=(f"{part.source}: {why_not}",))
        return
    scanning = _Scanning(part, content, telling)
    yield from scanning.members()
    yield HeardPart(part=part, is_archive=True, unknown=tuple(scanning.unknown()))


def _cannot_be_read(part: Part, content: Content) -> str:
    if content.archive == "zip" and content.is_packed:
        return "a zip archive within a packed file is not read: unpack it once"
    if content.archive == "zip" and not part.is_file:
        return "a zip archive has its list at the end, and cannot be read from a pipe: name a file"
    return ""


class _Scanning:
    """One archive, with what was read of it and what was not."""

    def __init__(self, part: Part, content: Content, telling: Telling) -> None:
        self._part, self._content, self._telling = part, content, telling
        is_zip = content.archive == "zip"
        self._found: ZipMembers | TarMembers
        self._found = ZipMembers(content.fd) if is_zip else TarMembers(content.read)
        self._allowance = Allowance((lambda: part.size) if is_zip else lambda: content.taken)
        self._unread = Unread()
        self._names: dict[str, int] = {}
        self._read = 0
        self._stopped = ""

    def members(self) -> Iterator[HeardPart]:
        for number, member in enumerate(self._found, start=1):
            if number > ENTRIES_MAX:
                self._stopped = f"it has more than {ENTRIES_MAX:,} entries"
            elif self._read >= FILES_MAX:
                self._stopped = f"it has more than {FILES_MAX:,} logs"
            if self._stopped:
                return
            if (heard := self._scanned(member, number)) is not None:
                self._read += bool(heard.bytes_read or not heard.unknown)
                yield heard
            if self._allowance.why:
                self._stopped = self._allowance.why
                return

    def unknown(self) -> Iterator[str]:
        why = self._stopped or self._content.why or self._found.why
        if why:
            logs = "1 log" if self._read == 1 else f"{self._read:,} logs"
            yield f"{self._part.source}: {why}: what follows is not read ({logs} before it)"
        elif not self._read:
            yield f"{self._part.source}: it holds no logs"
        yield from self._unread.sentences(self._part.source)

    def _scanned(self, member: Member, number: int) -> HeardPart | None:
        name = shown_name(member.name)
        if why_not := _why_not(name, member):
            self._unread.add(why_not, name)
            return None
        if SKIPPED_FOLDERS.intersection(name.split("/")[:-1]):
            return None
        stream = Stream(member.read)
        if stream.archive or stream.is_binary:
            self._unread.add(NESTED if stream.archive else NO_TEXT, name)
            return None
        again = self._names[name] = self._names.get(name, 0) + 1
        source = f"{self._part.source}!/{name}" + (f" ({again})" if again > 1 else "")
        part = Part(path=self._part.path, source=source, member=number)
        heard = scan(part, self._allowance.metered(stream.read), self._telling)
        if why := self._content.why or member.fault() or stream.why or self._allowance.why:
            heard = msgspec.structs.replace(heard, unknown=(f"{source}: {why}",))
        return heard


def _why_not(name: str, member: Member) -> str:
    if member.why_not:
        return member.why_not
    if is_archive_name(name):
        return NESTED
    return "not read, as their names are not those of logs" if is_no_log(name) else ""

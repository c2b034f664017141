"""Joins what the parts of one file told into what the file said."""

from dataclasses import dataclass, field, replace

import msgspec

from holdfast.logs.kept import Kept
from holdfast.logs.part import HeardPart, Told
from holdfast.model.facts import Fact, OutputEnded
from holdfast.model.hearing import BEFORE_BYTES, TAIL_BYTES, Heard, Hearing


@dataclass(slots=True)
class Joined:
    """Fed with the parts of a file in their order."""

    source: str
    bytes_read: int = 0
    unknown: list[str] = field(default_factory=list)
    _kept: Kept = field(default_factory=Kept)
    _newlines: int = 0
    _read_to: int = 0
    _head: bytes = b""
    _tail: bytes = b""

    def add(self, heard: HeardPart) -> None:
        self.unknown += heard.unknown
        self._kept.left_out += heard.left_out
        for told in heard.told:
            if told.offset >= self._read_to:  # else the part before has read on until here
                self._kept.add(self._placed(told, heard))
        self._read_to = max(self._read_to, heard.read_to)
        self._newlines += heard.newlines
        self.bytes_read += heard.bytes_read
        self._head = self._head or heard.head
        self._tail = (self._tail + heard.tail)[-TAIL_BYTES:]

    def heard(self) -> Heard | None:
        """What the file said; None when nothing of it could be read."""
        if self.unknown and not self.bytes_read:
            return None
        hearing = Hearing(self.source)
        for told in self._kept.all():
            before = _unix(told.before)
            for line in told.lines:
                hearing.take(
                    line.raw,
                    line=line.line + 1,
                    offset=line.offset,
                    before=before,
                    told=line.told,
                )
                before = (before + line.raw + b"\n")[-BEFORE_BYTES:]
        unended = bool(self._tail) and not self._tail.endswith(b"\n")
        heard = hearing.end(
            tail=_unix(self._tail),
            bytes_total=self.bytes_read,
            lines_total=self._newlines + unended,
            head=_unix(self._head),
        )
        return replace(heard, facts=tuple(map(self._counted, heard.facts)))

    def _counted(self, fact: Fact) -> Fact:
        """With the lines that we have left out, too."""
        if not isinstance(fact, OutputEnded):
            return fact
        return replace(
            fact,
            lines_heard=fact.lines_heard + self._kept.left_out,
            lines_left_out=fact.lines_left_out + self._kept.left_out,
        )

    def _placed(self, told: Told, heard: HeardPart) -> Told:
        """With its place in the file."""
        if heard.part.start == 0:
            return told
        lines = tuple(
            msgspec.structs.replace(line, line=line.line + self._newlines) for line in told.lines
        )
        return msgspec.structs.replace(told, lines=lines)


def _unix(some: bytes) -> bytes:
    r"""With \n as the only line end: what a progress bar draws again is a line of its own."""
    if b"\r" not in some:
        return some
    return some.replace(b"\r\n", b"\n").replace(b"\r", b"\n")

"""What one look at a log yields, in values that any process can send: parts, and what they told."""

import msgspec


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """Some bytes of a file, read by one process: the lines that begin in them."""

    path: bytes  # as the operating system has it, from the root; empty: standard input
    source: str  # what people call it
    start: int = 0
    end: int = -1  # -1: to its end, wherever that is
    size: int = 0  # on disk; 0 where nobody can know
    is_file: bool = True  # else only this process can read it, and once: a pipe
    member: int = 0  # of an archive: its number there, from 1; 0: the file itself


class ToldLine(msgspec.Struct, frozen=True, array_like=True):
    line: int  # lines before it in its part
    offset: int  # of its first byte in the file
    raw: bytes
    told: bool = True  # False: it only follows one that tells


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """A telling line, with those that follow as long as they belong to it."""

    lines: tuple[ToldLine, ...]
    before: bytes = b""  # some of what stands above it
    likeness: bytes = b""  # equal where only numbers differ

    @property
    def offset(self) -> int:
        return self.lines[0].offset

    @property
    def size(self) -> int:
        return len(self.before) + sum(len(line.raw) for line in self.lines)


class HeardPart(msgspec.Struct, frozen=True, kw_only=True):
    """All that a part told; numbers of lines count from its own first byte."""

    part: Part
    told: tuple[Told, ...] = ()
    left_out: int = 0  # telling lines beyond what is kept
    newlines: int = 0
    bytes_read: int = 0  # after unpacking
    read_to: int = 0  # the end of the last line that told, maybe in the next part
    head: bytes = b""
    tail: bytes = b""
    unknown: tuple[str, ...] = ()  # what could not be read, and why
    is_archive: bool = False  # its members have told; this is what there is to say of it

"""Lines that come again and again: of each kind the first and the last are enough."""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

FIRST_MAX = 64  # of one kind: lines that differ in numbers only
LAST_MAX = 16
KINDS_MAX = 8_000
KIND_BYTES = 160
LINE_BYTES_MAX = 4_096
BEFORE_BYTES_MAX = 1_024
_DIGITS = b"0123456789"
_REST = b""  # all kinds beyond the bound are one


@dataclass(frozen=True, slots=True)
class RawLine:
    """A line as it stands in the file, and some of what stands above it."""

    raw: bytes
    line: int
    offset: int
    before: bytes = b""


@dataclass(slots=True)
class Storms:
    """Says which lines are worth a look now, and keeps the last of the others for the end."""

    _counts: dict[bytes, int] = field(default_factory=dict)
    _last: dict[bytes, deque[RawLine]] = field(default_factory=dict)
    heard: int = 0
    left_out: int = 0

    def admits(self, one: RawLine) -> bool:
        """Whether a line is among the first of its kind."""
        self.heard += 1
        kind = one.raw[:KIND_BYTES].translate(None, _DIGITS)
        if kind not in self._counts and len(self._counts) >= KINDS_MAX:
            kind = _REST
        count = self._counts[kind] = self._counts.get(kind, 0) + 1
        if count <= FIRST_MAX:
            return True
        last = self._last.setdefault(kind, deque(maxlen=LAST_MAX))
        self.left_out += len(last) == LAST_MAX
        before = one.before[-BEFORE_BYTES_MAX:]
        last.append(RawLine(one.raw[:LINE_BYTES_MAX], one.line, one.offset, before))
        return False

    def late(self) -> Iterator[RawLine]:
        """The last of each kind that there were too many of."""
        for last in self._last.values():
            yield from last
        self._last.clear()

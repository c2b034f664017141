"""Steps in a program's own words: lines of one shape, a count that rises, a measure beside it.

`[120] loss=0.31`, `120 | 0.31 | 0.88`: no word says what the number is. But whoever prints line
after line of the same shape, with a whole number that only rises and with decimals, tells steps.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

LINES_KNOWN = 3  # of one shape, each with a larger count
SHAPES_KEPT = 4
WORDS_MAX = 24
COUNT_BELOW = 1_000_000_000  # above are moments in time
_AROUND = "[](){}<>#,;:|'\"%"
_COUNT, _OTHER = "#", "."


@dataclass(frozen=True, slots=True)
class _Shape:
    words: tuple[str, ...]
    count: int
    lines: int = 1


@dataclass(frozen=True, slots=True)
class CountedLines:
    """The shapes that were seen last, newest first."""

    shapes: tuple[_Shape, ...] = field(default=())

    def after(self, line: str) -> tuple["CountedLines", int | None]:
        """What is known after this line, and the step that it tells, if it does."""
        words = tuple(_words(line))
        counts = [int(word) for word in words if word.isdecimal()]
        if not counts or counts[0] >= COUNT_BELOW or not any(map(_is_measure, words)):
            return self, None
        shape = tuple(map(_place, words))
        before = next((one for one in self.shapes if one.words == shape), None)
        lines = before.lines + 1 if before and counts[0] > before.count else 1
        now = _Shape(shape, counts[0], lines)
        others = (one for one in self.shapes if one.words != shape)
        known = CountedLines((now, *others)[:SHAPES_KEPT])
        return known, counts[0] if lines >= LINES_KNOWN else None


NOTHING_COUNTED = CountedLines()


def _words(line: str) -> Iterator[str]:
    for word in line.replace("=", " ").split()[:WORDS_MAX]:
        yield word.strip(_AROUND)


def _place(word: str) -> str:
    if word.isdecimal():
        return _COUNT
    return _OTHER if any(map(str.isdecimal, word)) else word


def _is_measure(word: str) -> bool:
    whole, point, rest = word.partition(".")
    return bool(point) and whole.lstrip("+-").isdecimal() and rest.rstrip("e-+0123456789") == ""

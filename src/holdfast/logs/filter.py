"""Which lines of a block tell something: words found by Hyperscan, lines then judged by RE2."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import re2

from holdfast.logs.literals import LINE_START, Word, branches_of, words_of
from holdfast.logs.loose import loosened
from holdfast.model.pattern import AnyOf, Pattern, WhichOf

try:
    import hyperscan
except ImportError:  # no wheel for this machine, or the extra `fast` is not installed
    hyperscan = None  # type: ignore[assignment]

# RE2's \s does not know the vertical tab, and Hyperscan's does.
_VERTICAL_TAB = r"\x0b"
Hit = tuple[int, int]  # a byte of the line, and the needle's number
Finder = Callable[[bytes], list[Hit]]


@dataclass(frozen=True, slots=True)
class Needle:
    """What to look for in a whole block, and the patterns of which it is a sign."""

    pattern: Pattern
    signs: tuple[Pattern, ...]


class Telling:
    """The lines that match any of the patterns, each line by itself."""

    def __init__(self, patterns: Iterable[Pattern], *, fast: bool = True) -> None:
        self.needles = needles(tuple(patterns))
        self._find: Finder = _fast(self.needles) if fast and hyperscan else _slow(self.needles)

    def spans(self, block: bytes, *, line_bytes_max: int) -> list[tuple[int, int]]:
        """Where the telling lines of a block begin and end, in order; its last may lack an end.

        A line is judged by its first `line_bytes_max` bytes.
        """
        found: list[tuple[int, int]] = []
        start, stop, judged = 0, -1, set[Pattern]()
        for place, number in sorted(self._find(block)):
            if place > stop:
                start, stop, judged = (
                    block.rfind(b"\n", 0, place) + 1,
                    block.find(b"\n", place),
                    set(),
                )
                stop = stop if stop >= 0 else len(block)
            elif found and found[-1][0] == start:
                continue
            line = block[start : min(stop, start + line_bytes_max)]
            for pattern in self.needles[number].signs:
                if pattern not in judged and _judge(pattern).search(line):
                    found.append((start, stop))
                    break
                judged.add(pattern)
        return found

    def is_telling(self, line: bytes) -> bool:
        return bool(self.spans(line, line_bytes_max=len(line)))


def needles(patterns: tuple[Pattern, ...]) -> tuple[Needle, ...]:
    """Words where a pattern has some that are rare enough, else a looser pattern."""
    by_word: dict[Word, list[Pattern]] = defaultdict(list)
    wordless: list[tuple[str, Pattern]] = []
    for pattern in patterns:
        for branch in branches_of(pattern.unnamed):
            words = words_of(branch)
            for word in words:
                by_word[word].append(pattern)
            if not words:
                wordless.append((branch, pattern))
    found = [Needle(_as_pattern(word), tuple(signs)) for word, signs in by_word.items()]
    found += [Needle(loosened(Pattern(branch)), (pattern,)) for branch, pattern in wordless]
    if wordless:
        found.append(Needle(Pattern(_VERTICAL_TAB), tuple(pattern for _, pattern in wordless)))
    return tuple(found)


def _as_pattern(word: Word) -> Pattern:
    anchor = "^" if word.text.startswith(LINE_START) else ""
    plain = re2.escape(word.text.removeprefix(LINE_START))
    return Pattern(f"{anchor}(?i:{plain})" if word.any_case else f"{anchor}{plain}")


@cache
def _judge(pattern: Pattern) -> Any:
    options = re2.Options()
    options.encoding = options.Encoding.LATIN1  # output is bytes, not always UTF-8
    options.never_capture = True
    return re2.compile(pattern.text.encode("latin-1"), options)


def _fast(wanted: tuple[Needle, ...]) -> Finder:
    """By Hyperscan: as fast as memory, for thousands of needles."""
    database = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
    database.compile(
        expressions=[needle.pattern.text.encode("latin-1") for needle in wanted],
        ids=list(range(len(wanted))),
        flags=[hyperscan.HS_FLAG_MULTILINE] * len(wanted),
    )

    def find(block: bytes) -> list[Hit]:
        hits: list[Hit] = []

        def note(number: int, _start: int, end: int, _flags: int, _context: object) -> None:
            hits.append((end - 1, number))

        if block:
            database.scan(block, match_event_handler=note)
        return hits

    return find


def _slow(wanted: tuple[Needle, ...]) -> Finder:
    """By RE2: first whether any needle is in a line, then which."""
    any_of = AnyOf(needle.pattern for needle in wanted)
    which_of = WhichOf(needle.pattern for needle in wanted)

    def find(block: bytes) -> list[Hit]:
        return [
            (start, number)
            for start in _starts(any_of, block)
            for number in which_of.matching(_line_at(block, start))
        ]

    return find


def _starts(any_of: AnyOf, block: bytes) -> Iterator[int]:
    """A place in each line that a match begins in."""
    at = 0
    while 0 <= (start := any_of.first(block, at)) < len(block):
        yield start
        end = block.find(b"\n", start)
        if end < 0:
            return
        at = end + 1


def _line_at(block: bytes, place: int) -> str:
    start, stop = block.rfind(b"\n", 0, place) + 1, block.find(b"\n", place)
    return block[start : stop if stop >= 0 else len(block)].decode("latin-1")

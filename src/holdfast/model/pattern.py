"""Log patterns, matched by RE2: lines come from strangers, and `re` can be made to hang."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import re2

_MEMORY_BYTES_MAX = 16 << 20


@dataclass(frozen=True, slots=True)
class Pattern:
    """A regular expression in RE2's language. Equal text is an equal pattern."""

    text: str

    def search(self, line: str) -> Any:
        """The match, with `group`, or None."""
        return _compiled(self.text).search(line)

    def each(self, line: str) -> Iterator[Any]:
        """Every match, from left to right."""
        return iter(_compiled(self.text).finditer(line))


@cache
def _compiled(text: str) -> Any:
    return re2.compile(text)


class AnyOf:
    """Many patterns as one, over raw bytes: whether and where any of them may match."""

    def __init__(self, patterns: Iterable[Pattern]) -> None:
        options = re2.Options()
        options.max_mem = _MEMORY_BYTES_MAX
        options.encoding = options.Encoding.LATIN1  # output is bytes, not always UTF-8
        options.never_capture = True
        # ^ and $ are a line's, not the chunk's: hence (?m).
        union = "|".join(sorted({f"(?:{pattern.text})" for pattern in patterns}))
        self._regexp = re2.compile(f"(?m){union}".encode("latin-1"), options)

    def first(self, chunk: bytes, start: int) -> int:
        """Where the first match at or after `start` begins; -1 when there is none."""
        found = self._regexp.search(chunk, start)
        return -1 if found is None else int(found.start())

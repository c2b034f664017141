"""Log patterns, matched by RE2: lines come from strangers, and `re` can be made to hang."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import re2

_MEMORY_BYTES_MAX = 16 << 20
_SET_BYTES_MAX = 256 << 20
_UNION_LENGTH = 20_000  # from here on a search thrashes in less memory
_NAMED_GROUP = re2.compile(r"\(\?P<\w+>")


@dataclass(frozen=True, slots=True)
class Pattern:
    """A regular expression in RE2's language. Equal text is an equal pattern."""

    text: str

    @property
    def unnamed(self) -> str:
        """Without the names of its groups, so that many patterns can be one."""
        return str(_NAMED_GROUP.sub("(?:", self.text))

    def search(self, line: str) -> Any:
        """The match, with `group`, or None."""
        return _compiled(self.text).search(line)

    def each(self, line: str) -> Iterator[Any]:
        """Every match, from left to right."""
        return iter(_compiled(self.text).finditer(line))


class WhichOf:
    """Many patterns at once: which of them match a line."""

    def __init__(self, patterns: Iterable[Pattern]) -> None:
        self.patterns = tuple(patterns)
        options = re2.Options()
        options.max_mem = _SET_BYTES_MAX
        self._set = re2.Set.SearchSet(options)
        for pattern in self.patterns:
            self._set.Add(pattern.unnamed)
        self._set.Compile()

    def matching(self, line: str) -> list[int]:
        """The places, in the order given, of the patterns that match somewhere in the line."""
        return sorted(self._set.Match(line) or ())


@cache
def _compiled(text: str) -> Any:
    return re2.compile(text)


class AnyOf:
    """Many patterns as one, over raw bytes: whether and where any of them may match."""

    def __init__(self, patterns: Iterable[Pattern]) -> None:
        # ^ and $ are a line's, not the chunk's: hence (?m).
        union = "|".join(sorted({f"(?:{pattern.unnamed})" for pattern in patterns}))
        options = re2.Options()
        options.max_mem = _MEMORY_BYTES_MAX if len(union) < _UNION_LENGTH else _SET_BYTES_MAX
        options.encoding = options.Encoding.LATIN1  # output is bytes, not always UTF-8
        options.never_capture = True
        options.log_errors = False
        self._regexp = re2.compile(f"(?m){union}".encode("latin-1"), options)

    def first(self, chunk: bytes, start: int) -> int:
        """Where the first match at or after `start` begins; -1 when there is none."""
        found = self._regexp.search(chunk, start)
        return -1 if found is None else int(found.start())

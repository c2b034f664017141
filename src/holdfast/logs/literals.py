"""The plain words that a line must hold to match a pattern: thousands of them are found at once."""

import math
import string
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from itertools import product

LINE_START = "\n"
WORTH_MIN = 1.0  # below, it would be found in too many lines
RARITY_MAX = 12.0
LENGTH_MIN = TOKEN_MIN = 3
ALTERNATIVES_MAX = 100
CLASS_MAX = 10  # characters of a [class] that are tried one by one
# What every log is full of: better than nothing, worse than any other word.
_EVERYWHERE = frozenset(
    (
        *("tensorflow", "error", "errors", "warning", "info", "debug", "failed", "timeout"),
        *("worker", "workers", "device", "rank", "task", "job", "process", "process:", "node"),
        *("task:", "job:", "/job:", "/task:", "replica:", "/replica:", "collective", "tensor"),
        *("tensors", "shape", "step", "global_step", "epoch", "loss", "batch", "batches", "model"),
        *(
            "layer",
            "variable",
            "train",
            "training",
            "dataset",
            "checkpoint",
            "checkpoints",
            "saved",
        ),
        *("file", "files", "line", "time", "with", "from", "the", "true", "false", "none", "not"),
        *("for", "and", "sec", "secs", "seconds", "mean", "average", "median", "accuracy", "host"),
    )
)
_WORTH_OF_LINE_START = 2
_SPECIAL = frozenset("\\^$.|?*+()[]{}")
_REPEATS = ("?", "*", "+", "{")
_ZERO_WIDTH = frozenset("bBz")
_CONTROLS = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "v": "\v", "a": "\a"}


@dataclass(frozen=True, slots=True)
class Word:
    text: str
    any_case: bool = False

    def __add__(self, other: "Word") -> "Word":
        return Word(self.text + other.text, self.any_case or other.any_case)


@cache
def words_of(pattern: str) -> frozenset[Word]:
    """Words of which one stands in every line that matches; none where nobody can tell."""
    try:
        parsed = _Parser(pattern).alternatives(any_case=False)
    except _UnknownSyntaxError:
        return frozenset()
    found = parsed.needs or _NO_WORDS
    return found if _worth(found) >= WORTH_MIN else _NO_WORDS


def branches_of(pattern: str) -> list[str]:
    """The alternatives of a pattern, each of them a pattern; where flags reach over all, itself."""
    parser = _Parser(pattern)
    try:
        parser.alternatives(any_case=False)
    except _UnknownSyntaxError:
        return [pattern]
    if parser.has_flags:
        return [pattern]
    starts = [0, *(place + 1 for place in parser.bars)]
    stops = [*parser.bars, len(pattern)]
    return [pattern[start:stop] for start, stop in zip(starts, stops, strict=True)]


class _UnknownSyntaxError(Exception):
    pass


@dataclass(frozen=True, slots=True)
class _Piece:
    """A piece of a pattern: all that it can be, where that is little, and what it must hold."""

    exact: frozenset[Word] | None
    needs: frozenset[Word] | None


_NO_WORDS: frozenset[Word] = frozenset()
_EMPTY = frozenset({Word("")})
_ANYTHING = _Piece(None, None)
_NOTHING = _Piece(_EMPTY, None)
_AT_LINE_START = _Piece(frozenset({Word(LINE_START)}), None)
_DIGIT = _Piece(frozenset(map(Word, string.digits)), None)


def _best(candidates: Iterable[frozenset[Word]]) -> frozenset[Word]:
    """Those that stand in the fewest lines."""
    return max(candidates, key=_worth, default=frozenset())


def _worth(words: frozenset[Word]) -> float:
    """Long is good, many are bad; below zero nobody should look for them."""
    if not words:
        return -math.inf
    return min(map(_rarity, words)) - 0.3 * math.log2(len(words))


@cache
def _rarity(word: Word) -> float:
    anchored = word.text.startswith(LINE_START)
    text = word.text.removeprefix(LINE_START) if anchored else word.text
    if len(word.text) < LENGTH_MIN or not text.isascii() or LINE_START in text or "\r" in text:
        return -math.inf
    own = min(sum(map(_rarity_of_token, text.split())), RARITY_MAX)
    return own + (_WORTH_OF_LINE_START if anchored else 0) + len(text) / 100


@cache
def _rarity_of_token(token: str) -> float:
    core = token.strip(string.punctuation)
    if core.islower() and (len(core) < TOKEN_MIN or any(core in word for word in _EVERYWHERE)):
        return 0.5
    capitals = sum(char.isupper() for char in token)
    return len(token) + capitals / 2 - sum(char.isdigit() for char in token) / 2


def _in_a_row(pieces: Iterable[_Piece]) -> _Piece:
    whole = True
    run = fresh = _EMPTY  # since a piece that can be anything; since one that can be many things
    candidates: list[frozenset[Word]] = []
    for piece in pieces:
        exact = piece.exact
        if exact is not None and len(exact) == 1:
            run, fresh = _joined(run, exact), _joined(fresh, exact)
            continue
        candidates += [run, fresh]
        fresh = _EMPTY
        if exact is not None and len(run) * len(exact) <= ALTERNATIVES_MAX:
            run = _joined(run, exact)
            continue
        whole = False
        candidates.append(piece.needs or _NO_WORDS)
        run = exact if exact is not None else _EMPTY
    best = _best([*candidates, run, fresh])
    return _Piece(run if whole else None, best if _worth(best) > 0 else None)


def _joined(some: frozenset[Word], others: frozenset[Word]) -> frozenset[Word]:
    return frozenset(one + other for one, other in product(some, others))


def _one_of(pieces: list[_Piece]) -> _Piece:
    exact: frozenset[Word] | None = frozenset()
    needs: frozenset[Word] | None = frozenset()
    for piece in pieces:
        exact = None if exact is None or piece.exact is None else exact | piece.exact
        needs = None if needs is None or piece.needs is None else needs | piece.needs
    if exact is not None and len(exact) > ALTERNATIVES_MAX:
        exact = None
    return _Piece(exact, needs)


class _Parser:
    """RE2's language, as far as patterns for logs use it."""

    def __init__(self, pattern: str) -> None:
        self.bars: list[int] = []  # where the outermost alternatives part
        self.has_flags = False  # such as (?i), for all that follows
        self._depth = 0
        self._text = pattern
        self._at = 0

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def _next(self) -> str:
        char = self._peek()
        if not char:
            raise _UnknownSyntaxError
        self._at += 1
        return char

    def alternatives(self, *, any_case: bool) -> _Piece:
        """Up to the end, or to the bracket that closes it."""
        branches: list[_Piece] = []
        row: list[_Piece] = []
        while (char := self._peek()) not in ("", ")"):
            if char == "|":
                if not self._depth:
                    self.bars.append(self._at)
                self._at += 1
                branches.append(_in_a_row(row))
                row = []
            elif char == "(":
                group, any_case = self._group(any_case=any_case)
                row.append(self._repeated(group))
            else:
                row.append(self._repeated(self._atom(any_case=any_case)))
        branches.append(_in_a_row(row))
        return _one_of(branches)

    def _group(self, *, any_case: bool) -> tuple[_Piece, bool]:
        """A group in brackets, and whether case matters behind it: `(?i)` changes that."""
        self._next()
        inner = any_case
        if self._peek() == "?":
            self._next()
            if self._peek() in ("P", "<"):
                while self._next() != ">":
                    pass
            else:
                inner, closed = self._flags(any_case=any_case)
                if closed:
                    self.has_flags = True
                    return _NOTHING, inner
        self._depth += 1
        piece = self.alternatives(any_case=inner)
        self._depth -= 1
        if self._next() != ")":
            raise _UnknownSyntaxError
        return piece, any_case

    def _flags(self, *, any_case: bool) -> tuple[bool, bool]:
        """Whether case matters from here on, and whether that was all in the brackets."""
        sets = True
        while (char := self._next()) not in (":", ")"):
            if char not in "imsU-":
                raise _UnknownSyntaxError
            sets = sets and char != "-"
            any_case = sets if char == "i" else any_case
        return any_case, char == ")"

    def _atom(self, *, any_case: bool) -> _Piece:
        if run := self._plain_run():
            return _Piece(frozenset({Word(run.lower() if any_case else run, any_case)}), None)
        match char := self._next():
            case "^":
                return _AT_LINE_START
            case "$":
                return _NOTHING
            case ".":
                return _ANYTHING
            case "[":
                return _letters(self._class(), any_case=any_case)
            case "\\":
                return self._escaped(any_case=any_case)
        return _letters({char}, any_case=any_case)

    def _plain_run(self) -> str:
        """Several characters that mean themselves; the last may be repeated, and so is not ours."""
        stop = self._at
        while stop < len(self._text) and self._text[stop] not in _SPECIAL:
            stop += 1
        if self._text[stop : stop + 1] in _REPEATS:
            stop -= 1
        run = self._text[self._at : stop] if stop > self._at + 1 else ""
        self._at += len(run)
        return run

    def _escaped(self, *, any_case: bool) -> _Piece:
        if self._peek() in _ZERO_WIDTH:
            self._next()
            return _NOTHING
        if self._peek() == "d":
            self._next()
            return _DIGIT
        char = self._escape()
        return _ANYTHING if char is None else _letters({char}, any_case=any_case)

    def _escape(self) -> str | None:
        """The character that stands behind a backslash; None for one of many."""
        char = self._next()
        if char in "dDwWsS":
            return None
        if char == "x" and self._peek() != "{":
            return chr(int(self._next() + self._next(), 16))
        if char in _CONTROLS:
            return _CONTROLS[char]
        if char.isalnum():
            raise _UnknownSyntaxError
        return char

    def _class(self) -> set[str] | None:
        """The characters of a [class]; None where these are many."""
        found: set[str] = set()
        many = self._peek() == "^"
        self._at += many
        first, last = True, ""
        while (char := self._next()) != "]" or first:
            first = False
            if char == "[" and self._peek() == ":":
                raise _UnknownSyntaxError
            if char == "-" and last and self._peek() != "]":
                end = self._escape() if (stop := self._next()) == "\\" else stop
                found |= {chr(code) for code in range(ord(last), ord(end or last) + 1)}
                continue
            one = self._escape() if char == "\\" else char
            many = many or one is None
            last = one or ""
            found.add(last)
        return None if many or len(found) > CLASS_MAX else found

    def _repeated(self, piece: _Piece) -> _Piece:
        """With what follows it: `*`, `+`, `?`, `{2,5}`, each maybe with another `?`."""
        while True:
            match self._peek():
                case "*":
                    self._at += 1
                    piece = _ANYTHING
                case "?":
                    self._at += 1
                    optional = None if piece.exact is None else piece.exact | {Word("")}
                    piece = _Piece(optional, None)
                case "+":
                    self._at += 1
                    piece = _at_least_once(piece)
                case "{" if (least := self._bounds()) is not None:
                    piece = _at_least_once(piece) if least else _ANYTHING
                case _:
                    return piece

    def _bounds(self) -> int | None:
        """How often it stands there at least; None where the bracket means itself."""
        inside, closed, _ = self._text[self._at + 1 :].partition("}")
        least, _, most = inside.partition(",")
        if not closed or not least.isdecimal() or not (most.isdecimal() or not most):
            return None
        self._at += len(inside) + 2
        return int(least)


def _at_least_once(piece: _Piece) -> _Piece:
    """It stands there, and what follows can be anything: more of it."""
    return _in_a_row([piece, _ANYTHING])


def _letters(chars: set[str] | None, *, any_case: bool) -> _Piece:
    """One character of a few. Where case does not matter, one stands for both."""
    if not chars:
        return _ANYTHING
    if any_case:
        chars = {char.lower() for char in chars}
    return _Piece(frozenset(Word(char, any_case and char.isalpha()) for char in chars), None)

"""JSON of strangers: what it holds, or the exact place where it ends to be JSON."""

import ast
import json
import warnings
from collections import Counter
from dataclasses import dataclass
from typing import Any, Final

PARTS_MAX = 100_000  # brackets and commas: the largest definition needs a fifth of them
PYTHON_LENGTH_MAX = 256 << 10  # Python's own parser takes 100 times the memory of JSON's
BLANKS: Final = " \t\n\r"  # what JSON takes for blank
_PIECE = 64
_LITERALS: Final = ("true", "false", "null")


class Number(str):
    """A whole number as written: however many digits, nobody has to count them."""

    __slots__ = ()


class Members(dict[str, Any]):
    """A JSON object which remembers a name that it was given twice."""

    twice: str | None = None


@dataclass(frozen=True, slots=True)
class Fault:
    """Where the text ends to be JSON, and what was met there."""

    at: int
    kind: str  # deep, extra, cut, comma, syntax


def read_json(text: str) -> Any:
    """What the text holds, or a Fault. Whole numbers stay as written. Never raises."""
    start = _skip(text, 0)
    try:
        found, end = _DECODER.raw_decode(text, start)
    except RecursionError:
        return Fault(start, "deep")
    except json.JSONDecodeError as error:
        return _fault(text, error)
    rest = _skip(text, end)
    return found if rest == len(text) else Fault(rest, "extra")


def has_too_many_parts(text: str) -> bool:
    """Whether reading it would take long, told without reading it."""
    return text.count("[") + text.count("{") + text.count(",") > PARTS_MAX


def place_of(text: str, path: tuple[str | int, ...]) -> int:
    """Where the value at a path begins. The text is JSON, and has something there."""
    at = _skip(text, 0)
    for step in path:
        at = _named(text, at, step)[1] if isinstance(step, str) else _nth(text, at, step)
    return at


def place_of_name(text: str, path: tuple[str | int, ...]) -> int:
    """Where the last name of a path stands; of one that stands there twice, where it does again."""
    *above, name = path
    return _named(text, place_of(text, tuple(above)), str(name))[0]


def line_and_column(text: str, at: int) -> tuple[int, int]:
    """Both from 1, as editors count them."""
    return text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)


def is_python(text: str) -> bool:
    """Whether this is a dict as Python prints it: str() was called where json.dumps should be."""
    bare = text.strip()
    if not (bare.startswith("{") and bare.endswith("}")) or len(bare) > PYTHON_LENGTH_MAX:
        return False
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of escapes that Python deprecates
            return isinstance(ast.literal_eval(bare), dict)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return False


def without_outer_quotes(text: str) -> str:
    """What stands between quotes around the whole text, with its own quotes unescaped."""
    bare = text.strip()
    quote = bare[:1]
    if len(bare) < len("''") or quote not in {"'", '"'} or not bare.endswith(quote):
        return ""
    return bare[1:-1].replace('\\"', '"')


def _pairs(pairs: list[tuple[str, Any]]) -> Members:
    members = Members(pairs)
    if len(members) < len(pairs):
        counted = Counter(name for name, _ in pairs)
        members.twice = counted.most_common(1)[0][0]
    return members


_DECODER: Final = json.JSONDecoder(object_pairs_hook=_pairs, parse_int=Number, strict=True)


def _fault(text: str, error: json.JSONDecodeError) -> Fault:
    at = _skip(text, error.pos)
    end = len(text.rstrip(BLANKS))
    comma = at if text[at : at + 1] == "," else len(text[:at].rstrip(BLANKS)) - 1
    behind = _skip(text, comma + 1)
    if text[comma : comma + 1] == "," and text[behind : behind + 1] in {"]", "}"}:
        return Fault(comma, "comma")
    endless = error.msg.startswith("Unterminated string") and text[end - 1] not in "]}"
    remains = text[at:end]
    if at >= end or endless or remains == "-" or _begins_literal(remains):
        return Fault(end, "cut")
    return Fault(error.pos, "syntax")


def _begins_literal(remains: str) -> bool:
    return any(literal.startswith(remains) for literal in _LITERALS)


def _skip(text: str, at: int) -> int:
    """The next place that is not blank. In pieces, as a stranger may send millions of blanks."""
    while (piece := text[at : at + _PIECE]) and not piece.lstrip(BLANKS):
        at += len(piece)
    return at + len(piece) - len(piece.lstrip(BLANKS))


def _named(text: str, at: int, wanted: str) -> tuple[int, int]:
    """Where in the object that begins at `at` a name stands for the last time, and its value."""
    found = at, at
    at = _skip(text, at + 1)
    while text[at] != "}":
        name, end = _DECODER.raw_decode(text, at)
        value = _skip(text, _skip(text, end) + 1)
        if name == wanted:
            found = at, value
        _, end = _DECODER.raw_decode(text, value)
        at = _skip(text, end)
        at = _skip(text, at + 1) if text[at] == "," else at
    return found


def _nth(text: str, at: int, wanted: int) -> int:
    at = _skip(text, at + 1)
    for _ in range(wanted):
        _, end = _DECODER.raw_decode(text, at)
        at = _skip(text, _skip(text, end) + 1)
    return at

"""Strangers' text made fit for a terminal: the one place where it happens."""

import unicodedata
from collections.abc import Callable
from functools import cache
from typing import Final

_TAB_CELLS: Final = 8
_CHARACTERS_PER_CELL_MAX: Final = 4  # more than this is combining marks piled up on purpose
_REMEMBERED_MAX: Final = 4096
_EMOJI_STYLE: Final = "\ufe0f"  # makes some narrow characters wide

# The eight-bit controls that open a sequence, and ST which ends one, in their seven-bit form.
_SEVEN_BIT: Final = {
    "\x90": "\x1bP",
    "\x98": "\x1bX",
    "\x9b": "\x1b[",
    "\x9c": "\x1b\\",
    "\x9d": "\x1b]",
    "\x9e": "\x1b^",
    "\x9f": "\x1b_",
}
_OPENERS: Final = frozenset("\x1b").union(_SEVEN_BIT)
_STRING_ENDS: Final = {
    "]": ("\x07", "\x18", "\x1a", "\n", "\r"),
    "P": ("\x18", "\x1a", "\n", "\r"),
    "X": ("\x18", "\x1a", "\n", "\r"),
    "^": ("\x18", "\x1a", "\n", "\r"),
    "_": ("\x18", "\x1a", "\n", "\r"),
}
_SWALLOWED_ENDS: Final = frozenset("\x07\x18\x1a")

# Letters and marks to Unicode, yet nothing on the screen: text could hide behind them.
_INVISIBLE_RANGES: Final = (
    (0x034F, 0x034F),
    (0x115F, 0x1160),
    (0x17B4, 0x17B5),
    (0x180B, 0x180F),
    (0x2800, 0x2800),
    (0x3164, 0x3164),
    (0xFE00, 0xFE0D),
    (0xFFA0, 0xFFA0),
    (0xE0100, 0xE01EF),
)
_INVISIBLE: Final = frozenset(
    chr(code) for first, last in _INVISIBLE_RANGES for code in range(first, last + 1)
)


def plain(text: str) -> str:
    """One line of text without control characters: idempotent, in linear time.

    Escape sequences vanish whole, also unfinished ones. Every other control, bidi, zero-width
    or unassigned character becomes visible (`\\x07`, `\\u202e`), a tab becomes spaces.
    """
    if text.isprintable() and (text.isascii() or _INVISIBLE.isdisjoint(text)):
        return text
    if not _OPENERS.isdisjoint(text):
        text = _without_sequences(text)
    return text.expandtabs(_TAB_CELLS).translate(_VISIBLE)


def plain_bytes(raw: bytes) -> str:
    """As `plain`; what is not UTF-8 becomes U+FFFD."""
    return plain(raw.decode("utf-8", "replace"))


def cells(text: str) -> int:
    """How many columns a plain text takes on a terminal."""
    if text.isascii():
        return len(text)
    return sum(map(_cells_of, text))


def clip(text: str, cells_max: int) -> str:
    """The text, cut with `…` where it is wider than `cells_max` columns."""
    if len(text) <= cells_max * _CHARACTERS_PER_CELL_MAX and cells(text) <= cells_max:
        return text
    if cells_max <= 0:
        return ""
    return text[: fitting(text, cells_max - 1)] + "…"


def fitting(text: str, cells_max: int) -> int:
    """How many characters of a text fit in so many columns."""
    if text.isascii():
        return min(len(text), cells_max)
    used = 0
    for index, character in enumerate(text[: cells_max * _CHARACTERS_PER_CELL_MAX]):
        used += _cells_of(character)
        if used > cells_max:
            return index
    return min(len(text), cells_max * _CHARACTERS_PER_CELL_MAX)


@cache
def _cell_size() -> Callable[[str], int]:
    from rich.cells import get_character_cell_size  # noqa: PLC0415 - memory that a run in peace need not hold

    return get_character_cell_size


def _cells_of(character: str) -> int:
    return 1 if character == _EMOJI_STYLE else _cell_size()(character)


def _without_sequences(text: str) -> str:
    for eight_bit, seven_bit in _SEVEN_BIT.items():
        text = text.replace(eight_bit, seven_bit)
    head, *rest = text.split("\x1b")
    return head + "".join(part[_sequence_length(part) :] for part in rest)


def _sequence_length(part: str) -> int:
    """How much of what follows an ESC belongs to its sequence. `part` ends at the next ESC."""
    if not part:
        return 0
    if part[0] == "[":
        return _control_sequence_length(part)
    if part[0] in _STRING_ENDS:
        # Without its end it runs up to the end of the line: the next ESC is its ST, or cancels it.
        found = [part.find(end) for end in _STRING_ENDS[part[0]]]
        end = min((at for at in found if at >= 0), default=len(part))
        return end + (part[end : end + 1] in _SWALLOWED_ENDS)
    final = _skip(part, 0, " ", "/")
    return final + ("0" <= part[final : final + 1] <= "~")


def _control_sequence_length(part: str) -> int:
    final = _skip(part, _skip(part, 1, "0", "?"), " ", "/")
    return final + ("@" <= part[final : final + 1] <= "~")


def _skip(text: str, start: int, low: str, high: str) -> int:
    while low <= text[start : start + 1] <= high:
        start += 1
    return start


class _Visible(dict[int, str]):
    """For str.translate: what to show for a code point, worked out once."""

    def __missing__(self, code: int) -> str:
        shown = _shown(chr(code))
        if len(self) < _REMEMBERED_MAX:
            self[code] = shown
        return shown


def _shown(character: str) -> str:
    if character in _INVISIBLE:
        return _escaped(ord(character))
    if character.isprintable() or unicodedata.category(character) in ("Zs", "Co"):
        return character
    if unicodedata.category(character) == "Cs":
        return "\ufffd"
    return _escaped(ord(character))


def _escaped(code: int) -> str:
    short = {0x0A: "\\n", 0x0D: "\\r"}
    if code in short:
        return short[code]
    for digits, letter in ((2, "x"), (4, "u")):
        if code < 16**digits:
            return f"\\{letter}{code:0{digits}x}"
    return f"\\U{code:08x}"


_VISIBLE: Final = _Visible()

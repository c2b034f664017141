"""A task's output bytes as lines to show: whole, folded, short enough, harmless."""

import codecs
from collections.abc import Callable
from typing import Final

from holdfast.views.sanitise import plain_bytes

LINE_BYTES_MAX: Final = 4096
PROGRESS_EVERY_S: Final = 0.5
REPEATS_EVERY_S: Final = 5.0
_CLOCK_CHARACTERS: Final = frozenset("0123456789-:., TZ[]/+")
_CLOCK_LENGTH_MAX: Final = 40
_COLONS_IN_CLOCK_MIN: Final = 2
_MORE_FOLLOWS: Final = False  # to the decoder: this is not the end of the text
_TIMES: Final = "\u00d7"
_BACKSPACE: Final = b"\b"  # Keras rewinds its progress bar with hundreds of these


Hides = Callable[[str, float], bool]  # whether a line that came at that time is left out


def hides_nothing(text: str, at_s: float) -> bool:
    """Every line is shown."""
    return False


class LineAssembler:
    """One stream of one task. Memory stays bounded, however long a line is.

    A line rewritten with bare carriage returns (a progress bar) shows its newest state, at most
    every PROGRESS_EVERY_S. A line that repeats is shown once, then with its count.
    """

    def __init__(self, hides: Hides = hides_nothing) -> None:
        self._kept = b""  # the beginning of the line that is being written
        self._beyond_bytes = 0  # how much of it was not kept
        self._state: str | None = None  # a progress bar's newest finished state
        self._state_shown: str | None = None
        self._progress_at_s = float("-inf")
        self._folds = _Folds(hides)

    def feed(self, chunk: bytes, *, at_s: float) -> list[str]:
        """The lines that this chunk finishes, and what `tick` would add."""
        shown: list[str] = []
        *finished, rest = chunk.split(b"\n")
        for piece in finished:
            begun = self._kept or self._state is not None
            if begun or b"\r" in piece or len(piece) > LINE_BYTES_MAX:
                self._write(piece)
                self._end_line(shown, at_s=at_s)
            else:
                self._folds.add(plain_bytes(piece.strip(_BACKSPACE)), shown, at_s=at_s)
        self._write(rest)
        return shown + self.tick(at_s=at_s)

    def tick(self, *, at_s: float) -> list[str]:
        """What time alone makes worth showing: a progress bar's state, a growing count."""
        shown: list[str] = []
        if self._state is not None and at_s - self._progress_at_s >= PROGRESS_EVERY_S:
            newest = self._newest()
            if newest != self._state_shown:
                self._progress_at_s, self._state_shown = at_s, newest
                self._folds.add(newest, shown, at_s=at_s)
        self._folds.tick(shown, at_s=at_s)
        return shown

    def end(self, *, at_s: float) -> list[str]:
        """What is left when the stream is over."""
        shown: list[str] = []
        if self._kept or self._state is not None:
            self._end_line(shown, at_s=at_s)
        self._folds.flush(shown, at_s=at_s)
        return shown

    def _write(self, piece: bytes) -> None:
        """More of the same line. Only the newest two states of a progress bar matter."""
        if b"\r" not in piece:
            self._keep(piece)
            return
        finished, _, rest = piece.rpartition(b"\r")
        # All trailing \r belong together: \r\n and \r\r\n end a line, they rewrite nothing.
        _, rewound, last = finished.rstrip(b"\r").rpartition(b"\r")
        if rewound:
            self._kept, self._beyond_bytes = b"", 0
        self._keep(last)
        self._state = self._newest()
        self._kept, self._beyond_bytes = b"", 0
        self._keep(rest)

    def _keep(self, piece: bytes) -> None:
        room = LINE_BYTES_MAX - len(self._kept)
        if piece and room > 0:
            self._kept += piece[:room]
        self._beyond_bytes += max(0, len(piece) - max(0, room))

    def _end_line(self, shown: list[str], *, at_s: float) -> None:
        text = self._newest()
        if self._state_shown is None or text != self._state_shown:
            self._folds.add(text, shown, at_s=at_s)
        self._kept, self._beyond_bytes = b"", 0
        self._state = self._state_shown = None

    def _newest(self) -> str:
        """What a terminal would show now. A rewind and an erase leave the older state standing."""
        text = self._text()
        return text if text.strip() or self._state is None else self._state

    def _text(self) -> str:
        if not self._beyond_bytes:
            return plain_bytes(self._kept.strip(_BACKSPACE))
        whole = _whole_characters(self._kept)
        beyond = self._beyond_bytes + len(self._kept) - len(whole)
        return f"{plain_bytes(whole)}… (+{_size(beyond)})"


class _Folds:
    """Consecutive lines that say the same, shown once and then counted."""

    def __init__(self, hides: Hides) -> None:
        self._hides = hides
        self._last: str | None = None
        self._key = ""
        self._times = 0
        self._times_shown = 0
        self._shown_at_s = float("-inf")

    def add(self, text: str, shown: list[str], *, at_s: float) -> None:
        if self._hides(text, at_s):
            return
        if self._last is not None and self._same(text):
            self._times += 1
            self._last = text
            return
        self.flush(shown, at_s=at_s)
        self._last, self._key = text, ""
        self._times = self._times_shown = 1
        self._shown_at_s = at_s
        shown.append(text)

    def tick(self, shown: list[str], *, at_s: float) -> None:
        if self._times > self._times_shown and at_s - self._shown_at_s >= REPEATS_EVERY_S:
            self.flush(shown, at_s=at_s)

    def flush(self, shown: list[str], *, at_s: float) -> None:
        if self._last is not None and self._times > self._times_shown:
            # A run of empty lines says nothing that a count would make clearer.
            if self._last:
                shown.append(f"{self._last} {_TIMES}{self._times}")
            self._times_shown, self._shown_at_s = self._times, at_s

    def _same(self, text: str) -> bool:
        last = self._last or ""
        if text == last:
            return True
        if len(text) != len(last) or text[_CLOCK_LENGTH_MAX:] != last[_CLOCK_LENGTH_MAX:]:
            return False
        self._key = self._key or _after_clock(last)
        return self._key != last and _after_clock(text) == self._key != ""


def _after_clock(text: str) -> str:
    """The line without the time it begins with: `2026-11-15 18:02:58.1: I x` → `I x`."""
    glog = text[:1] in ("I", "W", "E", "F") and text[1:2].isdigit()
    end = start = 1 if glog else 0
    while end < min(len(text), _CLOCK_LENGTH_MAX) and text[end] in _CLOCK_CHARACTERS:
        end += 1
    is_clock = text.count(":", start, end) >= _COLONS_IN_CLOCK_MIN
    return text[:start] + text[end:] if is_clock else text


def _whole_characters(raw: bytes) -> bytes:
    """Without a UTF-8 character that was cut in the middle."""
    return raw[: codecs.utf_8_decode(raw, "replace", _MORE_FOLLOWS)[1]]


def _size(count: int) -> str:
    for unit, size in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count} bytes"

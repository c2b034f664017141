"""Rows of a terminal page: headlines, notes, and texts that overflow under their own beginning."""

from collections.abc import Iterator
from datetime import datetime, tzinfo
from typing import Final

from holdfast.views.sanitise import cells, plain
from holdfast.views.wrap import hanging, wrapped

RED, YELLOW, GREEN, BLUE, CYAN, BOLD = "1;31", "1;33", "1;32", "1;34", "1;36", "1"
SEVERITY_COLOURS: Final = {"error": RED, "warning": YELLOW, "notice": CYAN, "info": BLUE}
BAR: Final = "   |"
_MARGIN: Final = "    "


class Page:
    """Where rows are laid out: the width, whether to colour, whose clock."""

    def __init__(self, *, width: int, colour: bool, zone: tzinfo | None) -> None:
        self.width = width
        self.colour = colour
        self.zone = zone

    def headline(self, label: str, says: str, code: str) -> Iterator[str]:
        """Later rows are indented a little, as the label may be long."""
        rows = wrapped(plain(f"{label}: {says}"), self.width, indent=len(_MARGIN))
        for number, row in enumerate(rows):
            if number == 0 and row.startswith(label):
                yield self.paint(label, code) + self.paint(row[len(label) :], BOLD)
            else:
                yield self.paint(f"{_MARGIN}{row}" if number else row, BOLD)

    def notes(self, label: str, *texts: str) -> Iterator[str]:
        """One `= label` for all texts of a kind, each on rows of its own."""
        for number, text in enumerate(texts):
            yield from self.under("     " + " " * 9 if number else f"   = {label:<8} ", text)

    def under(
        self, first: str, text: str, *, bar: str = "", rows_max: int = 0, tail: str = ""
    ) -> Iterator[str]:
        """A row that begins with `first`, the rows it overflows into, and the tail kept whole."""
        room = self.width - cells(first)
        rows = wrapped(plain(text), room, rows_max=rows_max)
        if tail and cells(rows[-1]) + cells(tail) < room:
            rows[-1] += f" {tail}"
        elif tail:
            rows += wrapped(tail, room)
        for row in hanging(first, rows, then=bar):
            margin = next((mark for mark in ("  -->", BAR, "   =") if row.startswith(mark)), "")
            yield self.paint(margin, BLUE) + row[len(margin) :]

    def bar(self) -> str:
        return self.paint(BAR, BLUE)

    def moment(self, iso: str) -> datetime:
        return datetime.fromisoformat(iso).astimezone(self.zone)

    def paint(self, text: str, code: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.colour and text else text

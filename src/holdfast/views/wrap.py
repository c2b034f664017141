"""Text broken into rows of a terminal's width, counted in cells."""

from collections.abc import Iterator
from typing import Final

from holdfast.views.sanitise import cells, clip, fitting

GLUE: Final = "\u00a0"  # a space at which no row ends
_ROW_CELLS_MIN: Final = 16


def wrapped(text: str, cells_max: int, *, rows_max: int = 0, indent: int = 0) -> list[str]:
    """The rows of a plain text, broken at spaces where it can be; at least one row.

    Rows after the first leave room for `indent` cells. With `rows_max`, what does not fit in so
    many rows is cut with `…`.
    """
    first = max(cells_max, _ROW_CELLS_MIN)
    later = max(cells_max - indent, _ROW_CELLS_MIN)
    rows = list(_rows(text, first, later)) or [""]
    if rows_max and len(rows) > rows_max:
        rows = [*rows[: rows_max - 1], clip(f"{rows[rows_max - 1]} …", later)]
    return [row.replace(GLUE, " ") for row in rows]


def hanging(first: str, rows: list[str], *, then: str = "") -> Iterator[str]:
    """Rows behind `first`, the later ones behind `then` and indented alike."""
    indent = then + " " * (cells(first) - cells(then))
    for number, row in enumerate(rows):
        yield (f"{indent}{row}" if number else f"{first}{row}").rstrip()


def _rows(text: str, width: int, later: int) -> Iterator[str]:
    row = ""
    for word in filter(None, text.split(" ")):
        joined = f"{row} {word}" if row else word
        if cells(joined) <= width:
            row = joined
            continue
        if row:
            yield row
            width = later
        row = word
        while cells(row) > width:
            fits = max(1, fitting(row, width))
            yield row[:fits]
            row, width = row[fits:], later
    if row:
        yield row

"""Definitions that differ, side by side: who has what, and who is the odd one out."""

from collections.abc import Iterator, Sequence
from typing import Final

from holdfast.model.facts import SpecRead
from holdfast.views.sanitise import cells, clip, plain
from holdfast.views.wrap import hanging, wrapped

COLUMNS_MAX: Final = 4
ROWS_MAX: Final = 12
CELL_CELLS_MAX: Final = 32
_ABSENT: Final = "-"
_ODD: Final = "*"

Entry = tuple[str, str]  # role and index, as written


def spec_table(specs: Sequence[SpecRead], *, width: int) -> list[str]:
    """Rows are the entries that differ, columns the definitions; `*` marks the odd ones.

    Definitions that say the same share a column, the largest group first.
    """
    groups = _groups(specs)
    if len(groups) < 2:  # noqa: PLR2004 - one cannot differ
        return []
    entries = [dict(_entries(group[0])) for group in groups]
    differ = sorted(
        {
            key
            for entry in entries
            for key in entry
            if any(o.get(key) != entry[key] for o in entries)
        },
        key=_order,
    )
    has_majority = len(groups[0]) > len(groups[1])
    named_hosts = len({spec.host for spec in specs}) > 1  # records of several hosts
    heads = [
        _head(group, odd=has_majority and number > 0, named_hosts=named_hosts)
        for number, group in enumerate(groups[:COLUMNS_MAX])
    ]
    lines = [
        (f"{plain(key[0])}:{plain(key[1])}", [_cell(entry.get(key)) for entry in entries])
        for key in differ[:ROWS_MAX]
    ]
    shown = list(_table(heads, [(name, row[:COLUMNS_MAX]) for name, row in lines], width=width))
    if len(differ) > ROWS_MAX:
        shown.append(f"… and {len(differ) - ROWS_MAX} more entries differ")
    if len(groups) > COLUMNS_MAX:
        shown.append(f"… and {len(groups) - COLUMNS_MAX} more definitions that differ")
    return shown


def _groups(specs: Sequence[SpecRead]) -> list[list[SpecRead]]:
    alike: dict[tuple[tuple[Entry, str], ...], list[SpecRead]] = {}
    for spec in specs:
        alike.setdefault(tuple(sorted(_entries(spec))), []).append(spec)
    return sorted(alike.values(), key=len, reverse=True)


def _entries(spec: SpecRead) -> Iterator[tuple[Entry, str]]:
    for role, listed in spec.cluster.items():
        for index, address in listed.items():
            yield (role, index), address


def _order(entry: Entry) -> tuple[str, int, str]:
    role, index = entry
    number = int(index) if index.isascii() and index.isdigit() and len(index) < 10 else -1  # noqa: PLR2004
    return role, number, index


def _head(group: Sequence[SpecRead], *, odd: bool, named_hosts: bool) -> str:
    first = group[0]
    name = plain(first.source) if not named_hosts else f"{plain(first.host)}: {plain(first.source)}"
    more = f" +{len(group) - 1}" if len(group) > 1 else ""
    return clip(name, CELL_CELLS_MAX - 6) + more + (f" {_ODD}" if odd else "")


def _cell(address: str | None) -> str:
    return _ABSENT if address is None else clip(plain(address), CELL_CELLS_MAX)


def _table(
    heads: Sequence[str], lines: Sequence[tuple[str, Sequence[str]]], *, width: int
) -> Iterator[str]:
    first = max((cells(name) for name, _ in lines), default=0)
    columns = [
        max(cells(head), *(cells(row[number]) for _, row in lines))
        for number, head in enumerate(heads)
    ]
    if first + sum(columns) + 2 * len(columns) > width:
        yield from _plainly(heads, lines, width=width)
        return
    yield _row("", heads, first, columns)
    for name, row in lines:
        yield _row(name, row, first, columns)


def _row(name: str, row: Sequence[str], first: int, columns: Sequence[int]) -> str:
    padded = (
        f"{text}{' ' * (room - cells(text))}" for text, room in zip(row, columns, strict=True)
    )
    return f"{name}{' ' * (first - cells(name))}  {'  '.join(padded)}".rstrip()


def _plainly(
    heads: Sequence[str], lines: Sequence[tuple[str, Sequence[str]]], *, width: int
) -> Iterator[str]:
    """Too narrow for columns: one entry after the other."""
    for name, row in lines:
        yield name
        for head, address in zip(heads, row, strict=True):
            yield from hanging("  ", wrapped(f"{address} in {head}", width - 2))

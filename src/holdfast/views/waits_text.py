"""Who waits for whom, as a small picture in the terminal."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from holdfast.views.sanitise import cells, clip, plain
from holdfast.views.task_names import task_names
from holdfast.views.wrap import hanging, wrapped

WAITS_MAX: Final = 10_000
WAITERS_SHOWN_MAX: Final = 20
CIRCLES_SHOWN_MAX: Final = 5
GROUPS_SHOWN_MAX: Final = 20
WHYS_SHOWN_MAX: Final = 3
NAME_CELLS_MAX: Final = 40
_WHY_CELLS_MIN: Final = 12  # less room than that, and plain lines are easier to read
_RED, _BOLD = "1;31", "1"
_ARROW: Final = "──▶"
_CIRCLE: Final = "circle: "

Wait = tuple[str, str, str]  # waiter, awaited, why


def waits_text(
    waits: Sequence[Wait], marks: Mapping[str, str], *, width: int, colour: bool
) -> list[str]:
    """Rows without line ends. `marks` says a word about a task: gone, stopped, not started.

    Whoever waits for nobody comes first: the answer lies there. A circle has no such one, and is
    shown as a circle.
    """
    clean = list(dict.fromkeys((_name(a), _name(b), plain(why)) for a, b, why in waits[:WAITS_MAX]))
    said = {_name(task): plain(mark) for task, mark in marks.items()}
    picture = _Picture(said, width=width, colour=colour)
    circles = _circles(clean)
    rows: list[str] = []
    for circle in circles[:CIRCLES_SHOWN_MAX]:
        inside = [wait for wait in clean if wait[0] in circle and wait[1] in circle]
        clean = [wait for wait in clean if not (wait[0] in circle and wait[1] in circle)]
        rows += picture.circle(inside)
    groups = _groups(clean, said)
    for awaited, group in groups[:GROUPS_SHOWN_MAX]:
        rows += picture.group(awaited, group)
    if len(groups) > GROUPS_SHOWN_MAX:
        rows.append(f"… {len(groups) - GROUPS_SHOWN_MAX} others are waited for")
    if len(waits) > WAITS_MAX:
        rows.append(f"… and {len(waits) - WAITS_MAX:,} more")
    return rows


def _name(task: str) -> str:
    return clip(plain(task), NAME_CELLS_MAX)


def _groups(waits: Sequence[Wait], marks: Mapping[str, str]) -> list[tuple[list[str], list[Wait]]]:
    """By whom they wait for; first those who wait for nobody, and most awaited.

    Those who are awaited by the same for the same reason are one group.
    """
    by_awaited: dict[str, list[Wait]] = {}
    for wait in waits:
        by_awaited.setdefault(wait[1], []).append(wait)
    waiters = {waiter for waiter, _, _ in waits}
    alike: dict[object, list[str]] = {}
    for awaited, found in by_awaited.items():
        reasons = frozenset((waiter, why) for waiter, _, why in found)
        alike.setdefault((reasons, marks.get(awaited), awaited in waiters), []).append(awaited)
    return sorted(
        ((sorted(names, key=_order), by_awaited[names[0]]) for names in alike.values()),
        key=lambda item: (item[0][0] in waiters, -len(item[1]), _order(item[0][0])),
    )


def _circles(waits: Sequence[Wait]) -> list[set[str]]:
    """Those who wait for each other, directly or through others."""
    edges = {(waiter, awaited) for waiter, awaited, _ in waits}
    size = len(edges) + 1
    while len(edges) < size:  # who waits for nobody, and who is awaited by nobody, is in none
        size = len(edges)
        waiters, awaited = {a for a, _ in edges}, {b for _, b in edges}
        edges = {(a, b) for a, b in edges if b in waiters and a in awaited}
    onward: dict[str, set[str]] = {}
    inward: dict[str, set[str]] = {}
    for waiter, other in edges:
        onward.setdefault(waiter, set()).add(other)
        inward.setdefault(other, set()).add(waiter)
    circles: list[set[str]] = []
    seen: set[str] = set()
    for name in sorted(onward, key=_order):
        if name not in seen:
            together = _reached(name, onward) & _reached(name, inward)
            seen |= together
            if together:
                circles.append(together)
    return circles


def _reached(start: str, edges: Mapping[str, set[str]]) -> set[str]:
    reached: set[str] = set()
    ahead = [start]
    while ahead:
        fresh = edges.get(ahead.pop(), set()) - reached
        reached |= fresh
        ahead.extend(fresh)
    return reached


def _order(name: str) -> tuple[str, int]:
    role, _, index = name.partition(":")
    return role, int(index) if index.isascii() and index.isdigit() else -1


class _Picture:
    """Where the rows are laid out."""

    def __init__(self, marks: Mapping[str, str], *, width: int, colour: bool) -> None:
        self.marks = marks
        self.width = width
        self.colour = colour

    def group(self, awaited: Sequence[str], waits: Sequence[Wait]) -> Iterator[str]:
        """All who wait for one: a bracket and an arrow, or plain lines where that is too wide."""
        waiters = list(_shown(sorted({wait[0] for wait in waits}, key=_order)))
        whys = list(_few_whys(waits))
        column = max(map(cells, waiters))
        label = self.label(awaited)
        room = self.width - column - len(f" ┼{_ARROW} ") - cells(label) - 3
        if room < min(_WHY_CELLS_MIN, max(map(cells, whys))):
            yield from self.plainly(awaited, waiters, whys)
            return
        told = [row for why in whys for row in wrapped(why, room)]
        middle = (len(waiters) - 1) // 2 if len(waiters) % 2 else len(waiters) // 2
        for number in range(max(len(waiters), middle + len(told))):
            name = waiters[number] if number < len(waiters) else ""
            row = f"{name}{' ' * (column - cells(name))} {_bracket(number, middle, len(waiters))}"
            if number == middle:
                row += f"{_ARROW} {self.paint(awaited, label)}"
            elif middle < number < middle + len(told):
                row += " " * (cells(label) + 4)
            if middle <= number < middle + len(told) and told[number - middle]:
                row += f"   {told[number - middle]}"
            yield row.rstrip()

    def circle(self, waits: Sequence[Wait]) -> Iterator[str]:
        """Arrows that come back to where they began; of a knot only who is in it."""
        onward = {waiter: (awaited, why) for waiter, awaited, why in waits}
        first = min(onward, key=_order)
        if len(onward) < len({(waiter, awaited) for waiter, awaited, _ in waits}):
            knot = " ".join(_shown(sorted(onward, key=_order)))
            says = f"{knot} wait for each other"
            yield from hanging(_CIRCLE, wrapped(says, self.width - len(_CIRCLE)))
            return
        names = [first]
        while (onto := onward[names[-1]][0]) != first:
            names.append(onto)
        told = f" {_ARROW} ".join(self.label([name]) for name in (*names, first))
        yield from hanging(_CIRCLE, wrapped(told, self.width - len(_CIRCLE)))
        for waiter in names[:WAITERS_SHOWN_MAX]:
            awaited, why = onward[waiter]
            if why:
                says = f"{waiter} waits for {awaited}: {why}"
                yield from hanging("  ", wrapped(says, self.width - 2))

    def plainly(
        self, awaited: Sequence[str], waiters: Sequence[str], whys: Sequence[str]
    ) -> Iterator[str]:
        verb = "wait" if len(waiters) > 1 or "-" in waiters[0].rpartition(":")[2] else "waits"
        reason = "; ".join(filter(None, whys))
        says = f"{' '.join(waiters)} {verb} for {self.label(awaited)}"
        yield from hanging("", wrapped(f"{says}: {reason}" if reason else says, self.width))

    def label(self, names: Sequence[str]) -> str:
        shown = " ".join(_shown(names))
        return f"{shown} ({self.marks[names[0]]})" if self.marks.get(names[0]) else shown

    def paint(self, names: Sequence[str], label: str) -> str:
        code = _RED if self.marks.get(names[0]) else _BOLD
        return f"\x1b[{code}m{label}\x1b[0m" if self.colour else label


def _bracket(number: int, middle: int, rows: int) -> str:
    if number >= rows:
        return " "
    if rows == 1:
        return "─"
    if number == middle:
        return "┴" if number == rows - 1 else "┼"
    return "┐" if number == 0 else "┘" if number == rows - 1 else "┤"


def _shown(waiters: Sequence[str]) -> Iterator[str]:
    """Names with indices become ranges; what is still too many is counted."""
    by_role: dict[str, list[str]] = {}
    for name in waiters:
        role, index = _order(name)
        by_role.setdefault(role if index >= 0 and " " not in role else "", []).append(name)
    rows = [
        row
        for role, names in by_role.items()
        for row in (task_names(names).split(" ") if role else names)
    ]
    if len(rows) <= WAITERS_SHOWN_MAX:
        yield from rows
        return
    yield from rows[: WAITERS_SHOWN_MAX - 1]
    yield f"… {len(rows) - WAITERS_SHOWN_MAX + 1} more"


def _few_whys(waits: Sequence[Wait]) -> Iterator[str]:
    whys = list(dict.fromkeys(why for _, _, why in waits if why)) or [""]
    yield from whys[:WHYS_SHOWN_MAX]
    if len(whys) > WHYS_SHOWN_MAX:
        yield f"… and {len(whys) - WHYS_SHOWN_MAX} other reasons"

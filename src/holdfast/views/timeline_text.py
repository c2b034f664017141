"""The timeline of a failure as rows of a terminal page."""

from collections.abc import Iterator, Sequence
from typing import Final

from holdfast.views.page import BAR, Page
from holdfast.views.sanitise import cells, clip, plain
from holdfast.views.story import Moment, clocks, speaker, story_title, tells

SHOWN_MAX: Final = 12
NAME_CELLS_MAX: Final = 20
NAME_CELLS_MIN: Final = 12
_TEXT_CELLS_MIN: Final = 28  # with less room, a text gets a row of its own
_PLACE_CELLS_MIN: Final = 72  # with less room, where it stands is left out
_KEPT_FIRST: Final = {"first": 0, "echo": 1, "end": 2}  # noise, and what a newer Holdfast has, last


def timeline_rows(page: Page, moments: Sequence[Moment], *, more: str) -> Iterator[str]:
    """One row for each moment; none where there is nothing to compare."""
    if not tells(moments):
        return
    kept = _kept(moments)
    room = min(NAME_CELLS_MAX, max(NAME_CELLS_MIN, page.width // 6))
    names = [clip(plain(speaker(moment)), room) for moment in kept]
    name_cells = max(map(cells, names))
    role_cells = max(len(moment["role"]) for moment in kept)
    yield from page.under(f"{BAR} ", f"{story_title(kept)}:", bar=BAR)
    times = clocks(kept, page.zone)
    times_cells = max(map(len, times))
    for moment, name, time in zip(kept, names, times, strict=True):
        clock = f"{time:>{times_cells}}  " if time else ""
        gap = " " * (name_cells - cells(name) + 2)
        first = f"{BAR}   {clock}{name}{gap}{plain(moment['role']):<{role_cells}}  "
        yield from _row(page, first, moment)
    if len(moments) > len(kept):
        left = len(moments) - len(kept)
        yield from page.under(f"{BAR}   ", f"… {left} more in {more}", bar=BAR)
    yield page.bar()


def _row(page: Page, first: str, moment: Moment) -> Iterator[str]:
    room = page.width - cells(first)
    text = plain(moment["text"])
    if room < _TEXT_CELLS_MIN:
        yield from page.under(first.rstrip(), "", bar=BAR)
        yield from page.under(f"{BAR}     ", text, bar=BAR, rows_max=1)
        return
    place = f" [{plain(moment['file'])}:{moment['line']}]" if moment["line"] else ""
    if room < _PLACE_CELLS_MIN or cells(place) > room // 2:
        place = ""
    yield from page.under(first, clip(text, room - cells(place)) + place, bar=BAR, rows_max=1)


def _kept(moments: Sequence[Moment]) -> list[Moment]:
    """The most telling ones, each said once, still in the order of time."""
    once: dict[object, Moment] = {}
    for moment in moments:
        once.setdefault((speaker(moment), moment["role"], moment["text"]), moment)
    by_weight = sorted(
        enumerate(once.values()),
        key=lambda pair: _KEPT_FIRST.get(pair[1]["role"], len(_KEPT_FIRST)),
    )
    return [moment for _, moment in sorted(by_weight[:SHOWN_MAX], key=lambda pair: pair[0])]

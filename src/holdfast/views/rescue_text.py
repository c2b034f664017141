"""What a rescue found, for people: one line per dataset, and what is lost below it."""

from typing import Final

from holdfast.rows.rescuing.report import Rescued, RescuedDataset
from holdfast.views.sanitise import clip, plain

NAMES_MAX: Final = 2000
RANGES_MAX: Final = 5
WHY_CELLS: Final = 120


def rescue_text(found: Rescued) -> str:
    lines = [f"{plain(str(found.path))}: {plain(found.says)}"]
    for one in found.datasets[:NAMES_MAX]:
        lines += _dataset(one)
    if len(found.datasets) > NAMES_MAX:
        lines.append(f"  and {len(found.datasets) - NAMES_MAX} datasets more (--format json)")
    lines += [
        f"  lost    {plain(one.name)}: {clip(plain(one.why), WHY_CELLS)}"
        for one in found.lost_objects[:NAMES_MAX]
    ]
    lines += [f"  note    {plain(note)}" for note in found.notes[:NAMES_MAX]]
    if found.to is None:
        lines.append("nothing could be recovered")
    else:
        what = "all of it" if found.is_whole else "what could be recovered"
        lines.append(f"{what} is in {plain(str(found.to))}; the original is unchanged")
    return "\n".join(lines) + "\n"


def _dataset(one: RescuedDataset) -> list[str]:
    checked = f"checked by {one.checked_by}" if one.checked_by else "unchecked"
    head = (
        f"  {one.state:<9}{plain(one.name)}: {one.rows_recovered:,} of {one.rows:,}"
        f" row{'' if one.rows == 1 else 's'}, {plain(checked)}"
    )
    lines = [head]
    for loss in one.lost[:RANGES_MAX]:
        rows = f"row {loss.first}" if loss.first == loss.last else f"rows {loss.first}-{loss.last}"
        lines.append(f"           {rows} lost: {clip(plain(loss.why), WHY_CELLS)}")
    if len(one.lost) > RANGES_MAX:
        lines.append(f"           and {len(one.lost) - RANGES_MAX} more ranges (--format json)")
    for first, last in one.unstored[:RANGES_MAX]:
        lines.append(
            f"           rows {first}-{last}: nothing is stored for them, only fill values"
        )
    if one.attributes_lost:
        names = ", ".join(map(plain, one.attributes_lost[:NAMES_MAX]))
        lines.append(f"           attributes lost: {clip(names, WHY_CELLS)}")
    return lines

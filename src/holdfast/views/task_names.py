"""Many tasks in few words: worker:0-7."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Final

from holdfast.views.sanitise import plain

RANGE_MIN: Final = 3  # worker:0-2, but worker:0 worker:1


def task_names(names: Sequence[str]) -> str:
    """worker:0-7 instead of eight names; the order of roles stays."""
    by_role: dict[str, list[int]] = {}
    for name in names:
        role, _, index = plain(name).partition(":")
        by_role.setdefault(role, []).append(int(index) if index.isdecimal() else -1)
    return " ".join(name for role, found in by_role.items() for name in _ranges(role, found))


def _ranges(role: str, indices: list[int]) -> Iterator[str]:
    ordered = sorted(set(indices))
    for _, group in groupby(enumerate(ordered), key=lambda pair: pair[1] - pair[0]):
        run = [index for _, index in group]
        if len(run) >= RANGE_MIN:
            yield f"{role}:{run[0]}-{run[-1]}"
        else:
            yield from (role if index < 0 else f"{role}:{index}" for index in run)

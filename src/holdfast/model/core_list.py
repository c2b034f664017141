"""Cores of a host as the kernel lists them: 0-3,8."""

from collections.abc import Iterable, Iterator


def core_list(cores: Iterable[int]) -> str:
    """`0-3,8` for 0, 1, 2, 3 and 8."""
    return ",".join(
        str(first) if first == last else f"{first}-{last}" for first, last in _rows(sorted(cores))
    )


def _rows(cores: list[int]) -> Iterator[tuple[int, int]]:
    first = last = None
    for core in cores:
        if first is None or last is None:
            first = last = core
        elif core == last + 1:
            last = core
        else:
            yield first, last
            first = last = core
    if first is not None and last is not None:
        yield first, last


def cores_in(text: str) -> frozenset[int]:
    """0, 1, 2, 3 and 8 for `0-3,8`; none where it is no such list."""
    found: set[int] = set()
    for part in text.split(","):
        first, _, last = part.partition("-")
        if not first.isdecimal() or not (last or first).isdecimal():
            return frozenset()
        found.update(range(int(first), min(int(last or first), int(first) + CORES_MAX) + 1))
    return frozenset(found)


CORES_MAX = 4_096

"""The middle of some numbers. The library's own comes with decimals, fractions and chance."""

from collections.abc import Iterable


def median(values: Iterable[float]) -> float:
    """The middle one; of an even number, the mean of the two in the middle."""
    found = sorted(values)
    half = len(found) // 2
    return found[half] if len(found) % 2 else (found[half - 1] + found[half]) / 2


def median_low(values: Iterable[float]) -> float:
    """The middle one; of an even number, the smaller of the two in the middle."""
    found = sorted(values)
    return found[(len(found) - 1) // 2]

"""Lists of names as a sentence needs them."""

from collections.abc import Iterable

NAMES_MAX = 4


def listed(names: Iterable[object], *, total: int = 0) -> str:
    """`a`, `a and b`, `a, b and c`, `a, b, c and 5 more`: every name once, in the order given.

    `total` counts those, too, of whom no name was given.
    """
    words = list(dict.fromkeys(map(str, names)))
    total = max(total, len(words))
    if total > min(len(words), NAMES_MAX):
        kept = words[: NAMES_MAX - 1]
        return f"{', '.join(kept)} and {total - len(kept)} more"
    return " and ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))


def wait(count: int) -> str:
    """The verb that goes with that many waiters."""
    return "waits" if count == 1 else "wait"

"""Lists of names, sizes and times as a sentence needs them."""

from collections.abc import Iterable

NAMES_MAX = 4
UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB")
UNIT_STEP = 1024
MILLISECOND_S = 0.001
# How a sentence begins that says why nobody may call a job healthy by its logs alone.
UNFINISHED = NOBODY_FINISHED, WHETHER_FINISHED = "nobody finished: ", "whether "


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


def bytes_text(count: int) -> str:
    """1.2 GiB rather than 1288490189."""
    amount, unit = float(count), 0
    while abs(amount) >= UNIT_STEP and unit < len(UNITS) - 1:
        amount, unit = amount / UNIT_STEP, unit + 1
    return f"{amount:.1f} {UNITS[unit]}" if unit else f"{count} {UNITS[0]}"


def seconds_text(seconds: float) -> str:
    """0.4 ms rather than 0.000412: three digits are enough to compare."""
    if abs(seconds) < 1:
        return f"{seconds / MILLISECOND_S:.3g} ms"
    return f"{seconds:.3g} s"

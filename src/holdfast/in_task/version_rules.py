"""Which versions of a package fit each other in one cluster, as model/version_rules.py has it."""

from __future__ import annotations

# How many parts must be equal, and how far apart the last of them must be to tell of it.
RULES = {
    "tensorflow": (2, 1),
    "keras": (1, 1),
    "python": (2, 1),
    "protobuf": (1, 2),
    "numpy": (1, 1),
}


def fit(name: str, one: str, other: str) -> bool:
    """Whether tasks of one cluster may have these two; of what is not known, nothing is said."""
    parts, apart_min = RULES.get(name, (0, 1))
    pairs = list(zip(_numbers(one), _numbers(other)))[:parts]  # noqa: B905 - for Python 3.8
    for part, (ours, theirs) in enumerate(pairs, start=1):
        if abs(ours - theirs) >= (apart_min if part == parts else 1):
            return False
    return True


def _numbers(version: str) -> list[int]:
    found: list[int] = []
    for word in version.split("."):
        digits = word[: len(word) - len(word.lstrip("0123456789"))]
        if not digits:
            break
        found.append(int(digits))
    return found

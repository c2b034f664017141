"""Which versions of a package fit each other in one cluster, by the package's own rules."""

from collections.abc import Mapping
from dataclasses import dataclass

from holdfast.model.findings import Severity


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """How many parts of two versions must be equal, and how grave it is if they are not."""

    parts: int
    severity: Severity
    major: Severity | None = None  # where already the first part differs; None: no graver
    apart_min: int = 1  # how far the last of these parts must be apart


# The most important first. The page of `version-differs` says why in words; what tasks compare
# by themselves goes by the same numbers (in_task/version_rules.py).
RULES: Mapping[str, Rule] = {
    "tensorflow": Rule(parts=2, severity=Severity.WARNING, major=Severity.ERROR),
    "keras": Rule(parts=1, severity=Severity.WARNING),
    "python": Rule(parts=2, severity=Severity.INFO, major=Severity.WARNING),
    # Generated code of a major version is supported by this one and the next.
    "protobuf": Rule(parts=1, severity=Severity.INFO, apart_min=2),
    "numpy": Rule(parts=1, severity=Severity.INFO),
    "grpcio": Rule(parts=1, severity=Severity.INFO),
    "cuda": Rule(parts=1, severity=Severity.INFO),
}


def mismatch(name: str, one: str, other: str) -> Severity | None:
    """How grave it is that tasks of one cluster have these two versions; None: they fit."""
    rule = RULES.get(name)
    if rule is None:
        return None
    pairs = list(zip(_numbers(one), _numbers(other), strict=False))[: rule.parts]
    for part, (ours, theirs) in enumerate(pairs, start=1):
        least = rule.apart_min if part == rule.parts else 1
        if abs(ours - theirs) >= least:
            return rule.major if part == 1 and rule.major else rule.severity
    return None


def compared_part(name: str, version: str) -> tuple[int, ...]:
    """The part of a version that has to do with whether it fits others."""
    return tuple(_numbers(version)[: RULES[name].parts])


def _numbers(version: str) -> list[int]:
    """As far as it consists of numbers: of `unknown`, nothing can be said."""
    found: list[int] = []
    for word in version.split("."):
        digits = word[: len(word) - len(word.lstrip("0123456789"))]
        if not digits:
            break
        found.append(int(digits))
    return found

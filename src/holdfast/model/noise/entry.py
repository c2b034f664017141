"""One frightening line that means nothing, and why it means nothing."""

from dataclasses import dataclass

from holdfast.model.pattern import Pattern


@dataclass(frozen=True, slots=True)
class Noise:
    """What a program prints while all is well, or beside a fault that other lines tell of."""

    pattern: Pattern
    why: str  # one phrase, to be read after "harmless:"

"""What one log file said, before it is known whose file it is."""

from dataclasses import dataclass

from holdfast.model.facts import Fact
from holdfast.model.log_origin import Clue

UNTIMED = -1.0  # at_s of a fact whose line stands below no time at all


@dataclass(frozen=True, slots=True)
class Heard:
    """The facts of one file in its own order; `at_s` is still the line's own time since 1970."""

    source: str
    facts: tuple[Fact, ...]
    clues: tuple[Clue, ...] = ()
    span: tuple[float, float] | None = None  # the earliest and the latest time that were read

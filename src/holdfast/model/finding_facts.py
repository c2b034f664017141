"""What was told of a job while it ran, and what was taken back: findings are facts, too."""

from dataclasses import dataclass

from holdfast.model.facts import Fact


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingTold(Fact):
    """A finding was told, or told again because it became graver. `task` is its culprit."""

    cause: str
    severity: str  # notice, warning, error
    says: str
    confidence: str = "certain"
    waiting: tuple[str, ...] = ()  # the tasks that it keeps waiting
    place: str = ""  # what is to blame, where that is no task


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingTakenBack(Fact):
    """What was told of `task` no longer holds."""

    cause: str
    severity: str  # the gravest that was told
    says: str  # what was told last
    why: str  # why it no longer holds
    held_s: float = 0.0  # since it was told first
    place: str = ""  # as of FindingTold

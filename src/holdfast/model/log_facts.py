"""What was handed to us: facts that only logs without a journal yield."""

from dataclasses import dataclass

from holdfast.model.facts import Fact


@dataclass(frozen=True, slots=True, kw_only=True)
class LogsGiven(Fact):
    """Somebody handed us logs, and nobody saw the tasks themselves: words are all there is."""

    sources: tuple[str, ...]
    notes: tuple[str, ...] = ()  # what could not be told of them: whose one is, which clock is off


@dataclass(frozen=True, slots=True, kw_only=True)
class TotalTold(Fact):
    """A log announces how far its training is to go, and ends there, or clearly short of it."""

    is_reached: bool
    source: str
    total: int = 0  # of steps, where it announces so many

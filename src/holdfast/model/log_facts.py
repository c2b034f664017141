"""What was handed to us: facts that only logs without a journal yield."""

from dataclasses import dataclass

from holdfast.model.facts import Fact


@dataclass(frozen=True, slots=True, kw_only=True)
class LogsGiven(Fact):
    """Somebody handed us logs, and nobody saw the tasks themselves: words are all there is."""

    sources: tuple[str, ...]
    notes: tuple[str, ...] = ()  # what could not be told of them: whose one is, which clock is off

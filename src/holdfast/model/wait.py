"""One task that cannot go on without another."""

from dataclasses import dataclass

from holdfast.model.cluster import TaskId
from holdfast.model.facts import Fact


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """Who waits for whom, and how we know."""

    waiter: TaskId
    awaited: TaskId
    why: str
    fact: Fact

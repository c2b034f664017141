"""What was told last of each memory limit, and in which words a limit is called."""

from collections.abc import Iterator
from typing import TypeVar

from holdfast.model.evidence import Evidence
from holdfast.model.watch_facts import MemoryNearlyFull, MemoryNearsLimit

Told = TypeVar("Told", MemoryNearlyFull, MemoryNearsLimit)


def still_told(evidence: Evidence, kind: type[Told], lasting_s: float) -> Iterator[Told]:
    """The newest of each limit, while it is told again and again and its task lives."""
    now_s = max((fact.at_s for fact in evidence.facts), default=0.0)
    last = {(fact.host, fact.limit_of): fact for fact in evidence.of(kind)}
    for fact in last.values():
        if now_s - fact.at_s <= lasting_s and not evidence.exit_of(fact.task):
            yield fact


def limit_words(fact: MemoryNearlyFull | MemoryNearsLimit) -> str:
    if fact.limit_of:
        return f"the limit of cgroup {fact.limit_of}"
    return f"the memory of {fact.host}"

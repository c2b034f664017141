"""Who waits for whom: the graph in which the culprit is the one who waits for nobody."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from holdfast.model.cluster import TaskId
from holdfast.model.evidence import Evidence
from holdfast.model.findings import Finding
from holdfast.model.named_tasks import named_tasks
from holdfast.model.waiting import waits_in


@dataclass(frozen=True, slots=True)
class WaitsFor:
    """Edges from a task that waits to the tasks it waits for."""

    edges: Mapping[TaskId, frozenset[TaskId]]

    def reaches(self, waiter: TaskId | None, awaited: TaskId | None) -> bool:
        """Whether `waiter` waits for `awaited`, directly or through others."""
        seen: set[TaskId | None] = set()
        ahead: list[TaskId | None] = [waiter]
        while ahead:
            here = ahead.pop()
            if here is None or here in seen:
                continue
            seen.add(here)
            onward = self.edges.get(here, frozenset())
            if awaited in onward:
                return True
            ahead.extend(sorted(onward))
        return False

    def is_victim_of(self, victim: TaskId | None, culprit: TaskId | None) -> bool:
        """A one-way wait: in a cycle nobody is the other's victim."""
        return (
            victim != culprit
            and self.reaches(victim, culprit)
            and not self.reaches(culprit, victim)
        )


def waits_for(evidence: Evidence, proven: Iterable[Finding]) -> WaitsFor:
    """Edges from every proof in which one task speaks of another, and from what it names."""
    known = frozenset(evidence.tasks)
    edges: dict[TaskId, set[TaskId]] = {}
    for finding in proven:
        speaker = finding.proof.seen_at
        if not finding.is_echo or speaker is None:
            continue
        named = {name for fact in finding.proof.facts for name in named_tasks(fact)}
        if finding.proof.culprit is not None:
            named.add(finding.proof.culprit)
        edges.setdefault(speaker, set()).update((named & known) - {speaker})
    for wait in waits_in(evidence):
        edges.setdefault(wait.waiter, set()).add(wait.awaited)
    return WaitsFor({waiter: frozenset(awaited) for waiter, awaited in edges.items()})

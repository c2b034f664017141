"""How long a task was able to run, and we to look: want of a core is nobody's fault.

Limits that decide between slow and wrong count this time, and not that of the wall clock.
"""

import math
from collections.abc import Iterator

from holdfast.model.activity_facts import ActivitySeen
from holdfast.model.cluster import TaskId
from holdfast.model.evidence import Evidence
from holdfast.model.watch_facts import ObserverLate, TaskSampled

# While it is starved a task is measured every 5 s, over 10 s: a shorter time has no measure.
MEASURED_S = 10.0


def able_to_run_s(
    evidence: Evidence,
    task: TaskId | None,
    *,
    since_s: float,
    until_s: float,
    known_s: float = math.inf,
) -> float:
    """Of the time between the two, the part in which it had a core whenever it wanted one.

    Only what was measured by `known_s` counts.
    """
    share = starved_share(evidence, task, since_s=since_s, until_s=until_s, known_s=known_s)
    return max(0.0, until_s - since_s) * (1 - share)


def starved_share(
    evidence: Evidence,
    task: TaskId | None,
    *,
    since_s: float,
    until_s: float,
    known_s: float = math.inf,
) -> float:
    """Of that time, in which it wanted a core and got none; 0 where nobody measured it.

    A mean: one bad moment must not excuse what lasts for minutes.
    """
    began_s = min(since_s, until_s - MEASURED_S)
    waited_s = measured_s = 0.0
    for at_s, over_s, share in _measured(evidence, task):
        within_s = min(at_s, until_s) - max(at_s - over_s, began_s)
        if within_s > 0 and at_s <= known_s:
            measured_s += within_s
            waited_s += within_s * min(1.0, share)
    return waited_s / measured_s if measured_s else 0.0


def observer_late_s(evidence: Evidence, host: str, *, since_s: float, until_s: float) -> float:
    """How much of that time whoever looks from a host did not get to look."""
    late = (fact for fact in evidence.of(ObserverLate) if fact.host == host)
    return sum(
        max(0.0, min(fact.at_s, until_s) - max(fact.at_s - fact.late_s, since_s)) for fact in late
    )


def _measured(evidence: Evidence, task: TaskId | None) -> Iterator[tuple[float, float, float]]:
    """When, over how long, and which share: of its main thread, all threads, or its quota."""
    if task is None:
        return
    for sample in evidence.of(TaskSampled, task):
        shares = (sample.starved_share, sample.threads_starved_share, sample.throttled_share)
        yield sample.at_s, sample.over_s, max(shares)
    for seen in evidence.of(ActivitySeen, task):
        for process in seen.processes[:1]:
            yield seen.at_s, seen.over_s, process.starved_share

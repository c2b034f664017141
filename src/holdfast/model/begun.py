"""Which tasks are up already, and which are still to be started."""

from holdfast.model.cluster import TaskId
from holdfast.model.evidence import Evidence
from holdfast.model.facts import HostMeasured, PathProbed, ProcessSeen, TaskStarted
from holdfast.model.path import Outcome


def begun_tasks(evidence: Evidence) -> frozenset[TaskId]:
    """Those that were started, seen as a process, or answered under their own name."""
    started = {fact.task for fact in evidence.of(TaskStarted)}
    seen = {fact.task for fact in evidence.of(ProcessSeen)}
    return frozenset(task for task in started | seen if task) | answering_tasks(evidence)


def answering_tasks(evidence: Evidence) -> frozenset[TaskId]:
    """Those that said their own name when somebody asked at their address."""
    return frozenset(
        look.target
        for look in evidence.of(PathProbed)
        if look.target and look.outcome == Outcome.ANSWERED and look.name == str(look.target)
    )


def tasks_to_start(evidence: Evidence, host: str) -> tuple[str, ...]:
    """The names of those that belong on a host and are not up yet, by the last look at it."""
    begun = {str(task) for task in begun_tasks(evidence)}
    last: tuple[str, ...] = ()
    for fact in evidence.of(HostMeasured):
        if fact.host == host:
            last = fact.tasks
    return tuple(name for name in last if name not in begun)


def only_task_of(evidence: Evidence, host: str) -> TaskId | None:
    """The task of a host that has just one: what is true of the host is true of it."""
    names = {name for fact in evidence.of(HostMeasured) if fact.host == host for name in fact.tasks}
    if len(names) != 1:
        return None
    return next((task for task in evidence.tasks if str(task) in names), None)

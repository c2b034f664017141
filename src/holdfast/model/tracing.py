"""Whose trace is taken next, of those who keep the others waiting."""

from collections.abc import Collection, Iterable

from holdfast.model.cluster import TaskId
from holdfast.model.facts import Fact, StopAsked, TaskExited, TaskStarted
from holdfast.model.watch_facts import TaskMoves, TaskStill, TraceTaken


def to_be_traced(facts: Iterable[Fact], wanted: Collection[TaskId]) -> TaskId | None:
    """The first that lives, moves, and was not traced before; nobody once the end was asked for.

    A task that stands still may hang: a trace of nothing would only be one more thing in its way.
    """
    moving = dict.fromkeys(wanted, True)
    for fact in facts:
        if isinstance(fact, StopAsked):
            return None
        if fact.task is None or fact.task not in moving:
            continue
        match fact:
            case TaskExited() | TaskStill():
                moving[fact.task] = False
            case TaskStarted() | TaskMoves():
                moving[fact.task] = True
            case TraceTaken():
                del moving[fact.task]
    return next((task for task, moves in moving.items() if moves), None)

"""Looks at stacks while a job stands still: which of them count, and how long it lasts."""

from holdfast.model.cluster import TaskId
from holdfast.model.evidence import Evidence
from holdfast.model.watch_facts import StacksSeen, TaskMoves, TaskStill

APART_S = 1.5  # between two looks that find the same: less proves nothing
TOLD_AGAIN_S = 75.0  # a stillness is told again within this while it lasts


def looks_at(evidence: Evidence, task: TaskId | None) -> list[StacksSeen]:
    """All looks at a task's stacks before anybody began to end it, oldest first."""
    until_s = evidence.ending_s()
    exited = evidence.exit_of(task)
    until_s = min(until_s, exited.at_s) if exited else until_s
    return [seen for seen in evidence.of(StacksSeen, task) if seen.at_s <= until_s]


def still_at(evidence: Evidence, task: TaskId, at_s: float) -> TaskStill | None:
    """The newest word that a task stands still, if it was true at that time."""
    last = max(evidence.of(TaskStill, task), key=lambda fact: fact.at_s, default=None)
    if last is None or not last.at_s - last.still_s <= at_s <= last.at_s + TOLD_AGAIN_S:
        return None
    moved = any(move.at_s >= last.at_s for move in evidence.of(TaskMoves, task))
    return None if moved else last


def still_since_s(evidence: Evidence, task: TaskId, last: TaskStill) -> float:
    """When a stillness began, by the first that was told of it.

    How long it lasts leaves out the time in which we were late, so that each later word alone would
    put its beginning later.
    """
    moves = (move.at_s for move in evidence.of(TaskMoves, task) if move.at_s < last.at_s)
    moved_s = max(moves, default=-1.0)
    told = (fact for fact in evidence.of(TaskStill, task) if moved_s < fact.at_s <= last.at_s)
    return min(fact.at_s - fact.still_s for fact in told)

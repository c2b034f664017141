"""Tasks that are started again while the others train; who of them hangs is ended first. Pure."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from holdfast.model.cluster import TaskId
from holdfast.model.facts import Fact, TimePassed
from holdfast.model.orders import StartAgain
from holdfast.model.recovery_facts import RemedyDecided


@dataclass(frozen=True, slots=True, kw_only=True)
class Restart:
    """A task that is to be started again."""

    due_s: float
    why: str
    ordered: bool = False


Restarts = Mapping[TaskId, Restart]


def with_decided(restarts: Restarts, fact: Fact) -> Restarts:
    """Those that are to be started again, once this is known, too."""
    if not isinstance(fact, RemedyDecided) or fact.remedy != "restart" or fact.dry_run:
        return restarts
    again = Restart(due_s=fact.at_s + fact.wait_s, why=fact.reason)
    return {**restarts, **dict.fromkeys(map(TaskId.parse, fact.tasks), again)}


def start_again(
    restarts: Restarts, ended: Collection[TaskId], fact: Fact
) -> tuple[Restarts, tuple[StartAgain, ...]]:
    """Those whose time has come, each once.

    At a tick only: by then, all that is to be told of an end has been told.
    """
    due = {
        task: again
        for task, again in restarts.items()
        if task in ended and fact.at_s >= again.due_s and not again.ordered
    }
    if not due or not isinstance(fact, TimePassed):
        return restarts, ()
    ordered = {task: replace(again, ordered=True) for task, again in due.items()}
    orders = tuple(StartAgain(task=task, why=again.why) for task, again in due.items())
    return {**restarts, **ordered}, orders

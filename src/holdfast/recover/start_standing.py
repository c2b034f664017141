"""Whether a start stands although every server answers: all who train wait in calls of it. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from holdfast.model.cluster import TaskId
from holdfast.model.stacks import Doing, doing, main_thread
from holdfast.model.start_calls import start_call
from holdfast.model.watch_facts import StacksSeen

FRESH_S = 10.0  # a start is given up only by looks as new as that


@dataclass(frozen=True, slots=True)
class InCall:
    """The looks that have found one task inside of a call of its start, without a break."""

    pid: int
    first_s: float
    last_s: float


Calls = Mapping[TaskId, InCall | None]  # None: it serves, and waits for work


def with_look(calls: Calls, task: TaskId, look: StacksSeen) -> Calls:
    others = without_call(calls, task)
    before = calls.get(task)
    if start_call(look) is not None:
        same = before is not None and before.pid == look.pid
        first_s = before.first_s if before is not None and same else look.at_s
        return {**others, task: InCall(look.pid, first_s, look.at_s)}
    main = main_thread(look)
    return {**others, task: None} if main and doing(main) is Doing.SERVER else others


def without_call(calls: Calls, task: TaskId) -> Calls:
    return {other: call for other, call in calls.items() if other != task}


def standing_tasks(
    calls: Calls,
    members: tuple[TaskId, ...],
    ready: frozenset[TaskId],
    *,
    at_s: float,
    lasts_s: float,
) -> tuple[TaskId, ...]:
    """Those in a call of their start, if all who train are, for so long, or serve.

    Whoever has not answered, and is in no such call, may only be late.
    """
    elsewhere = [task for task in members if task.trains and task not in calls]
    if elsewhere or any(task not in ready and calls.get(task) is None for task in members):
        return ()
    stand = {task: call for task in members if (call := calls.get(task)) is not None}
    lasting = all(at_s - call.first_s >= lasts_s for call in stand.values())
    return tuple(stand) if lasting else ()


def are_fresh(calls: Calls, tasks: Iterable[TaskId], at_s: float) -> bool:
    looks = [call for task in tasks if (call := calls.get(task)) is not None]
    return all(at_s - call.last_s < FRESH_S for call in looks)

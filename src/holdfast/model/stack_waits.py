"""Who waits for whom, read from the stacks of a job that stands still."""

from collections.abc import Iterator

from holdfast.model.cluster import TaskId
from holdfast.model.evidence import Evidence
from holdfast.model.stack_rounds import APART_S, looks_at, still_at
from holdfast.model.stacks import Doing, doing, frames_of, main_thread, unmoved
from holdfast.model.wait import Wait
from holdfast.model.watch_facts import StacksSeen

TOGETHER_S = 15.0  # looks at different tasks that can be compared
LOOP = "WorkerClosureProcessingLoop-"  # the coordinator's thread for one worker
IN_LOOP = "execute_with_cancellation"
# Where a task stands that keeps the others waiting in a collective. One that serves, or whose
# stack could not be read, may well have done its part.
ELSEWHERE = frozenset(
    {Doing.LOCK, Doing.SLEEP, Doing.READING, Doing.USER, Doing.LIBRARY, Doing.INPUT}
)


def stack_waits(evidence: Evidence) -> Iterator[Wait]:
    """Only of tasks that stood still in two looks, by their stacks and by their steps."""
    looks = {
        task: seen
        for task in evidence.tasks
        if (seen := looks_at(evidence, task)) and still_at(evidence, task, seen[-1].at_s)
    }
    if not any(task.role == "ps" for task in evidence.tasks):
        yield from _in_collective(looks)
    for task, seen in looks.items():
        yield from _for_workers(evidence, task, seen)


def _in_collective(looks: dict[TaskId, list[StacksSeen]]) -> Iterator[Wait]:
    """Whoever stands in the step's execution waits for each trainer that is not there."""
    trainers = {task: seen for task, seen in looks.items() if task.trains}
    inside = {
        task: rounds[-1]
        for task, seen in trainers.items()
        if (rounds := unmoved(seen, over_s=APART_S)) and _all(rounds, frozenset({Doing.EXECUTE}))
    }
    for awaited, seen in trainers.items():
        recent = [look for look in seen if seen[-1].at_s - look.at_s <= TOGETHER_S]
        lasting = recent[-1].at_s - recent[0].at_s >= APART_S
        if not lasting or not _all(recent, ELSEWHERE):
            continue
        main = main_thread(recent[-1])
        at = frames_of(main)[-1] if main else ""
        for waiter, look in inside.items():
            if abs(look.at_s - recent[-1].at_s) <= TOGETHER_S:
                why = f"it stands in TensorFlow's step, and {awaited} does not: it is at {at}"
                yield Wait(waiter=waiter, awaited=awaited, why=why, fact=look)


def _all(rounds: list[StacksSeen], places: frozenset[Doing]) -> bool:
    mains = [main_thread(look) for look in rounds]
    return all(main is not None and doing(main) in places for main in mains)


def _for_workers(evidence: Evidence, task: TaskId, seen: list[StacksSeen]) -> Iterator[Wait]:
    """A coordinator has a thread for each worker, and that thread waits for its answer."""
    last = seen[-1]
    before = [
        {(thread.thread, thread.frames) for thread in look.threads}
        for look in seen
        if look.pid == last.pid and APART_S <= last.at_s - look.at_s <= TOGETHER_S
    ]
    for thread in last.threads:
        index = thread.name.removeprefix(LOOP)
        inner = frames_of(thread)[-1:]
        waits = any(frame.name == IN_LOOP for frame in inner)
        lasting = any((thread.thread, thread.frames) in look for look in before)
        if index == thread.name or not index.isdecimal() or not waits or not lasting:
            continue
        awaited = TaskId("worker", int(index))
        if awaited in evidence.tasks:
            why = f"its thread {thread.name} waits for the answer of {awaited}"
            yield Wait(waiter=task, awaited=awaited, why=why, fact=last)

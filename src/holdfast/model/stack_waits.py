"""Which workers the threads of a coordinator wait for, while it stands still.

Who waits for whom inside of a step is read from all stacks together, in standstill.py.
"""

from collections.abc import Iterator

from holdfast.model.cluster import TaskId
from holdfast.model.evidence import Evidence
from holdfast.model.stack_rounds import APART_S, looks_at, still_at
from holdfast.model.stacks import frames_of
from holdfast.model.wait import Wait
from holdfast.model.watch_facts import StacksSeen

TOGETHER_S = 15.0  # between two looks that can be compared
LOOP = "WorkerClosureProcessingLoop-"  # the coordinator's thread for one worker
IN_LOOP = "execute_with_cancellation"


def stack_waits(evidence: Evidence) -> Iterator[Wait]:
    """Only of tasks that stood still in two looks, by their stacks and by their steps."""
    looks = {
        task: seen
        for task in evidence.tasks
        if (seen := looks_at(evidence, task)) and still_at(evidence, task, seen[-1].at_s)
    }
    for task, seen in looks.items():
        yield from _for_workers(evidence, task, seen)


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

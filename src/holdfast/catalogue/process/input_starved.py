"""A task waits for its own input: its generator or files give batches too slowly.

## What you see
Steps take many times as long as they did, or as the model needs. In a synchronous job everybody
goes at the pace of the one with the slow input, and all logs look the same.

## Why it happens
A Python generator that reads from far away, decodes on one core or waits for a server; a disk or
a file server that has become slow; a `map` without `num_parallel_calls`, no `prefetch`.

## How to confirm it by hand
`holdfast stacks`, or `py-spy dump --nonblocking --pid PID` some times in a row: a thread below
`from_generator_op.py` or the main thread in `iterator_get_next` is always in the same place.

## What to do
Make that place faster, or hide it: `.prefetch(tf.data.AUTOTUNE)`, `num_parallel_calls`, local
copies of the data, more than one reader.

## When this accusation would be wrong
An input that is slow only at its start, while it fills its buffers, looks the same for some
seconds: so steps must have become slower, too, or have stopped. A generator that is busy while
another task is late is not accused, because its buffer is full and nobody calls it.
"""

from collections.abc import Iterator

from holdfast.model.cluster import TaskId
from holdfast.model.evidence import Evidence
from holdfast.model.facts import Fact
from holdfast.model.findings import Cause, Confidence, Proof
from holdfast.model.pace import SLOWER, slowed
from holdfast.model.remedies import AskHuman
from holdfast.model.stack_rounds import looks_at, still_at
from holdfast.model.stacks import Doing, Frame, doing, frames_of, main_thread, user_frame
from holdfast.model.watch_facts import StacksSeen, StepsSeen, TaskSlow, ThreadStack
from holdfast.model.words import seconds_text

LOOKS_MIN, LOOKS_COUNTED = 3, 12
OVER_S = 3.0
MOST = 2 / 3  # of the looks: between two batches it does something else
GENERATORS = ("from_generator_op.py", "script_ops.py")


def detect(evidence: Evidence) -> Iterator[Proof]:
    for task in evidence.tasks:
        looks = looks_at(evidence, task)[-LOOKS_COUNTED:]
        places = [place for look in looks if (place := _waits_at(look))]
        enough = len(looks) >= LOOKS_MIN and len(places) >= MOST * len(looks)
        if enough and looks[-1].at_s - looks[0].at_s >= OVER_S:
            harm = _harm(evidence, task, looks[-1])
            if harm is not None:
                yield _proof(task, looks, places, harm)


def _waits_at(look: StacksSeen) -> Frame | None:
    """Where its input comes from, when the main thread is in a step and input is being made."""
    main = main_thread(look)
    if main is None or doing(main) not in {Doing.EXECUTE, Doing.INPUT}:
        return None
    for thread in look.threads[1:]:
        if _is_generator(thread) and (own := user_frame(thread)):
            return own
    return user_frame(main) if doing(main) is Doing.INPUT else None


def _is_generator(thread: ThreadStack) -> bool:
    return any(
        frame.is_tensorflow and frame.file.endswith(GENERATORS) for frame in frames_of(thread)
    )


def _harm(evidence: Evidence, task: TaskId, last: StacksSeen) -> Fact | None:
    """What shows that steps suffer: they take much longer than at their best, or have stopped."""
    still = still_at(evidence, task, last.at_s)
    if slow := slowed(evidence, task):
        return slow[-1]
    behind = max(evidence.of(TaskSlow, task), key=lambda fact: fact.at_s, default=None)
    return behind if behind is not None and behind.factor >= SLOWER else still


def _proof(task: TaskId, looks: list[StacksSeen], places: list[Frame], harm: Fact) -> Proof:
    place = places[-1]
    paced = harm if isinstance(harm, StepsSeen | TaskSlow) else None
    slow = f", {seconds_text(paced.step_s)} a step" if paced else ""
    return Proof(
        facts=(looks[0], looks[-1], harm),
        culprit=task,
        confidence=Confidence.HIGH,
        says=f"{task} waits for its own input{slow}: {len(places)} of {len(looks)}"
        f" looks in {seconds_text(looks[-1].at_s - looks[0].at_s)} found it in {place.name}"
        f" at {place}",
        do=(
            f"make {place.name} at {place} faster, or read ahead: .prefetch(tf.data.AUTOTUNE)",
            f"see it again: holdfast stacks RUN_DIR --task {task}",
        ),
    )


cause = Cause(family="task-stalled", detect=detect, live=True, remedy=AskHuman())

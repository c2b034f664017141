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
another task is late is not accused, because its buffer is full and nobody calls it. An input that
is slow, on a starved host too, is a warning and never an error while steps still come; where they
have stopped, it is a notice first, and an error only after minutes.

What it knows more than `keeps-waiting`: that the step waits for the input, and where that is made.
"""

from collections.abc import Iterator

from holdfast.model.cluster import TaskId
from holdfast.model.core_time import able_to_run_s
from holdfast.model.evidence import Evidence
from holdfast.model.facts import Fact
from holdfast.model.findings import HUNG_CODE, Cause, Confidence, Proof, Severity
from holdfast.model.loudness import how_loud
from holdfast.model.pace import SLOWER, slowed
from holdfast.model.remedies import AskHuman
from holdfast.model.stack_rounds import looks_at, still_at
from holdfast.model.stacks import Doing, Frame, doing, frames_of, main_thread, user_frame
from holdfast.model.watch_facts import StacksSeen, StepsSeen, TaskSlow, TaskStill, ThreadStack
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
                yield _proof(evidence, task, looks, places, harm)


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


def _proof(
    evidence: Evidence,
    task: TaskId,
    looks: list[StacksSeen],
    places: list[Frame],
    harm: Fact,
) -> Proof:
    place = places[-1]
    paced = harm if isinstance(harm, StepsSeen | TaskSlow) else None
    slow = f", {seconds_text(paced.step_s)} a step" if paced else ""
    return Proof(
        facts=(looks[0], looks[-1], harm),
        culprit=task,
        confidence=Confidence.HIGH,
        severity=_severity(evidence, harm),
        says=f"{task} waits for its own input{slow}: {len(places)} of {len(looks)}"
        f" looks in {seconds_text(looks[-1].at_s - looks[0].at_s)} found it in {place.name}"
        f" at {place}",
        do=(
            f"make {place.name} at {place} faster, or read ahead: .prefetch(tf.data.AUTOTUNE)",
            f"see it again: holdfast stacks RUN_DIR --task {task}",
        ),
        exit_code=HUNG_CODE if isinstance(harm, TaskStill) else 1,
    )


def _severity(evidence: Evidence, harm: Fact) -> Severity:
    """Who is slow gets on; of who stands still, time tells whether it will."""
    if not isinstance(harm, TaskStill):
        return Severity.WARNING
    since_s = harm.at_s - harm.still_s
    able_s = able_to_run_s(evidence, harm.task, since_s=since_s, until_s=harm.at_s)
    return how_loud(evidence, able_s, usual_s=harm.usual_s, works=True)


cause = Cause(family="task-stalled", detect=detect, live=True, remedy=AskHuman())

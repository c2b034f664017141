"""A task runs round and round in its own code without a step: a loop that does not end.

## What you see
The job stands still, and one task uses a whole core all the while. No line says why: TensorFlow's
threads answer all the others. They wait in the next all-reduce, or for its results.

## Why it happens
A `while` loop whose condition never comes true, a search that does not converge, a retry without
a limit or a pause, a regular expression that explodes.

## How to confirm it by hand
`top -H -p PID` shows one busy thread; `holdfast stacks`, or `py-spy dump --nonblocking --pid PID`
some times in a row, always shows the same few lines of the same functions.

## What to do
Give the loop a limit, and make it fail when that is reached.

## When this accusation would be wrong
Work that is only long, such as reading a large file in pure Python before the first step, looks
the same; it counts only when the task has stood still for much longer than it ever did before,
and when nobody else makes any progress.
"""

from collections.abc import Iterator

from holdfast.model.cluster import TaskId
from holdfast.model.evidence import Evidence
from holdfast.model.findings import HUNG_CODE, Cause, Confidence, Proof
from holdfast.model.pattern import Pattern
from holdfast.model.remedies import AskHuman
from holdfast.model.stack_rounds import looks_at, still_at
from holdfast.model.stacks import Doing, Frame, doing, main_thread, user_frame
from holdfast.model.watch_facts import StacksSeen, StepsSeen, TaskSampled, TaskStill
from holdfast.model.wording import Weight, Words
from holdfast.model.words import listed, seconds_text

LOOKS_MIN = 3
LOOKS_COUNTED = 12  # the newest: what it did long before does not matter
OVER_S = 3.0
PLACES_MAX = 3  # functions in which a loop was seen
LINES_MAX = 8
BUSY_SHARE = 0.5  # of a core
HABITS = 2.0  # how many times longer than its longest pause it has computed


def detect(evidence: Evidence) -> Iterator[Proof]:
    for task in evidence.tasks:
        looks = _in_own_code(looks_at(evidence, task)[-LOOKS_COUNTED:])
        frames = [frame for look in looks if (frame := _own_frame(look))]
        if len(looks) < LOOKS_MIN or looks[-1].at_s - looks[0].at_s < OVER_S:
            continue
        still = still_at(evidence, task, looks[-1].at_s)
        if still and _is_small(frames):
            used, wanted = _shares(evidence, task, still)
            if wanted >= BUSY_SHARE:
                yield _proof(evidence, looks, frames, still, used_share=used)


def _in_own_code(looks: list[StacksSeen]) -> list[StacksSeen]:
    """The newest looks in a row that found the same process in the user's own code."""
    kept: list[StacksSeen] = []
    for look in reversed(looks):
        same = not kept or look.pid == kept[0].pid
        main = main_thread(look)
        if not (same and main and doing(main) is Doing.USER):
            break
        kept.insert(0, look)
    return kept


def _own_frame(look: StacksSeen) -> Frame | None:
    main = main_thread(look)
    return user_frame(main) if main else None


def _is_small(frames: list[Frame]) -> bool:
    places = {(frame.file, frame.function) for frame in frames}
    lines = {(frame.file, frame.line) for frame in frames}
    return len(places) <= PLACES_MAX and len(lines) <= LINES_MAX


def _shares(evidence: Evidence, task: TaskId, still: TaskStill) -> tuple[float, float]:
    """Of a core, meanwhile: what its main thread used, and with what it wanted and did not get."""
    began_s = still.at_s - still.still_s
    used = wanted = still.cpu_share
    for sample in evidence.of(TaskSampled, task):
        if sample.at_s - began_s >= sample.over_s / 2:
            share = sample.main_cpu_share or sample.cpu_share
            used, wanted = max(used, share), max(wanted, share + sample.starved_share)
    return used, wanted


def _proof(
    evidence: Evidence,
    looks: list[StacksSeen],
    frames: list[Frame],
    still: TaskStill,
    *,
    used_share: float,
) -> Proof:
    """Sure, when it has computed for longer than it ever paused: starved of cores, that is late.

    That it still stands still, the newest look says as well as who measures it now and then.
    """
    task = still.task
    stood_s = max(still.still_s, looks[-1].at_s - (still.at_s - still.still_s))
    functions = listed(dict.fromkeys(frame.name for frame in frames))
    files = listed(dict.fromkeys(frame.file.rpartition("/")[2] for frame in frames))
    sure = still.usual_s > 0 and used_share * stood_s >= HABITS * still.usual_s
    alone = not _others_go_on(evidence, task, looks[0].at_s)
    return Proof(
        facts=(looks[0], looks[-1], still),
        culprit=task,
        confidence=Confidence.HIGH if sure and alone else Confidence.LIKELY,
        says=f"{task} turns in circles in its own code: no progress for"
        f" {seconds_text(stood_s)}, all the while busy, and each of {len(looks)} looks in"
        f" {seconds_text(looks[-1].at_s - looks[0].at_s)} found it in {functions} of {files}",
        do=(
            f"give the loop at {frames[-1]} ({frames[-1].name}) a limit",
            f"see it again: holdfast stacks RUN_DIR --task {task}",
        ),
        exit_code=HUNG_CODE,
    )


def _others_go_on(evidence: Evidence, task: TaskId | None, since_s: float) -> bool:
    """In lockstep nobody can; beside parameter servers each goes on at its own pace."""
    if any(other.role == "ps" for other in evidence.tasks):
        return False
    return any(steps.at_s > since_s and steps.task != task for steps in evidence.of(StepsSeen))


# What programs say of somebody who is there, and does not get on.
WORDS = (
    Words(
        Pattern(r"Timeout while feeding partition"),
        Weight.SIGN,
        says="{who} no longer takes the input that it is fed: {line}",
    ),
)

cause = Cause(
    family="task-stalled",
    detect=detect,
    live=True,
    words=WORDS,
    do=(
        "take the stacks of all its threads: py-spy dump --pid PID",
        "see what it does: top -H -b -n 1 -p PID | head -20",
    ),
    remedy=AskHuman(),
)

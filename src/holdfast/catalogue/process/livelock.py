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
Work that is only long, such as an evaluation or a large file that is read in pure Python, looks
the same: no look can tell a loop that never ends from one that will. So it is a notice of
`keeps-waiting` first, becomes a warning of this cause when it lasts much longer than anything
before, and an error only at a limit of minutes (`--hang-after-s`). What counts is the time that
the task really had a core: on a starved host the limits are reached later.

What it knows more than `keeps-waiting`: look after look finds the same few lines, all the while
busy.
"""

from collections.abc import Iterator

from holdfast.model.cluster import TaskId
from holdfast.model.core_time import able_to_run_s
from holdfast.model.evidence import Evidence
from holdfast.model.findings import HUNG_CODE, Cause, Confidence, Proof, Severity
from holdfast.model.loudness import how_loud
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
            proof = _proof(evidence, looks, frames, still)
            busy = _wanted_share(evidence, task, still) >= BUSY_SHARE
            # Before that it is only work that lasts: who waits for it is told by keeps-waiting.
            if busy and proof.severity is not Severity.NOTICE:
                yield proof


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


def _wanted_share(evidence: Evidence, task: TaskId, still: TaskStill) -> float:
    """Of a core, meanwhile: what its main thread used, and what it wanted and did not get."""
    began_s = still.at_s - still.still_s
    wanted = [
        (sample.main_cpu_share or sample.cpu_share) + sample.starved_share
        for sample in evidence.of(TaskSampled, task)
        if sample.at_s - began_s >= sample.over_s / 2
    ]
    return max(still.cpu_share, *wanted) if wanted else still.cpu_share


def _proof(
    evidence: Evidence,
    looks: list[StacksSeen],
    frames: list[Frame],
    still: TaskStill,
) -> Proof:
    """Sure, when it could compute for longer than it ever paused: starved of cores, that is late.

    That it still stands still, the newest look says as well as who measures it now and then.
    """
    task = still.task
    began_s = still.at_s - still.still_s
    stood_s = max(still.still_s, looks[-1].at_s - began_s)
    functions = listed(dict.fromkeys(frame.name for frame in frames))
    files = listed(dict.fromkeys(frame.file.rpartition("/")[2] for frame in frames))
    able_s = able_to_run_s(evidence, task, since_s=began_s, until_s=began_s + stood_s)
    sure = still.usual_s > 0 and able_s >= HABITS * still.usual_s
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
        severity=how_loud(evidence, able_s, usual_s=still.usual_s, works=True),
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

"""Whether a program is over while its process stays: in what Python calls at its end."""

from typing import NamedTuple

from holdfast.model.cluster import TaskId
from holdfast.model.evidence import Evidence
from holdfast.model.facts import TracebackSeen
from holdfast.model.stack_rounds import APART_S, looks_at, still_at, still_since_s
from holdfast.model.stacks import Frame, frame_of, frames_of, main_thread, unmoved
from holdfast.model.watch_facts import StacksSeen, TaskStill, ThreadStack

PROGRAM = "<module>"  # Python's name for the program itself, the outermost of its frames
RUNNERS = 3  # frames of `python -m` that may stand around it
FRAMES_MAX = 16  # what is done at the end is not called from deep within
# A traceback is read a little after it was written, and a farewell may begin with some work.
SOON_S = 5.0


class CannotLeave(NamedTuple):
    """A task whose program is over, and that stands still in what Python calls at its end."""

    look: StacksSeen
    still: TaskStill
    at: Frame


def cannot_leave(evidence: Evidence, task: TaskId, seen: TracebackSeen) -> CannotLeave | None:
    """What shows that a task cannot leave since this traceback, if it is so."""
    if evidence.exit_of(task) is not None or not _ended_the_program(seen):
        return None
    rounds = unmoved(looks_at(evidence, task), over_s=APART_S)
    main = main_thread(rounds[-1]) if rounds else None
    at = farewell(main) if main else None
    if at is None:
        return None
    still = still_at(evidence, task, rounds[-1].at_s)
    # Who went on after it had only logged it.
    if still is None or still_since_s(evidence, task, still) > seen.at_s + SOON_S:
        return None
    return CannotLeave(rounds[-1], still, at)


def farewell(main: ThreadStack) -> Frame | None:
    """Where the main thread stands, if its program has returned: what atexit or threading call."""
    frames = frames_of(main)
    if not frames or len(frames) > FRAMES_MAX:
        return None
    over = all(frame.is_library and frame.name != PROGRAM for frame in frames)
    return frames[-1] if over else None


def _ended_the_program(seen: TracebackSeen) -> bool:
    """Whether nobody in the program caught it: not one of a thread, nor caught by a function."""
    return any(frame_of(frame).name == PROGRAM for frame in seen.frames[:RUNNERS])

"""What really happened in a wild job, by the notes that its own tasks took."""

import contextlib
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from bench.wild.composing import Job
from bench.wild.grammar import PROGRAMS, Kind

STUCK_S, STUCK_STEPS = 2.5, 3  # in a step, where tasks do not go in lockstep


@dataclass(frozen=True, slots=True)
class Note:
    what: str  # enter, done, fault, over
    step: int
    at_s: float  # Unix time, as all moments here


@dataclass(frozen=True, slots=True, kw_only=True)
class Truth:
    fault_s: float  # when the chosen task began with it
    go_on_s: float  # when the others could have gone on, or it alone
    is_over: bool = False  # it returned, which only a pause may do
    waiting: tuple[str, ...] = ()  # who waited for it in the end


Notes = Mapping[str, Sequence[Note]]


def read_notes(folder: Path, tasks: Sequence[str]) -> dict[str, list[Note]]:
    found: dict[str, list[Note]] = {}
    for task in tasks:
        with contextlib.suppress(FileNotFoundError):
            lines = (folder / task.replace(":", "-")).read_text().splitlines()
            words = [line.split() for line in lines]
            whole = [each for each in words if len(each) == 3]
            found[task] = [Note(what, int(step), float(at)) for what, step, at in whole]
    return found


def truth_of(job: Job, notes: Notes, *, until_s: float) -> Truth | None:
    """None: the chosen task has not begun with it by `until_s`."""
    own = notes.get(job.chosen, ())
    faults = [note.at_s for note in own if note.what == "fault"]
    if not faults:
        return None
    fault_s = faults[0]
    is_over = any(note.what == "over" for note in own)
    if job.kind is Kind.DIES or is_over:
        return Truth(fault_s=fault_s, go_on_s=fault_s, is_over=is_over)
    waiting = {
        task: others[-1].at_s
        for task, others in notes.items()
        if task != job.chosen and others and _is_stuck(job, others[-1], until_s)
    }
    if waiting:
        go_on_s = max(fault_s, min(waiting.values()))
        return Truth(fault_s=fault_s, go_on_s=go_on_s, waiting=tuple(sorted(waiting)))
    entered = [note.at_s for note in own if note.what == "enter"]
    alone_s = max(fault_s, entered[-1] if entered else fault_s) + usual_step_s(job, own)
    return Truth(fault_s=fault_s, go_on_s=alone_s)


def usual_step_s(job: Job, own: Sequence[Note]) -> float:
    done = [note.at_s for note in own if note.what == "done" and note.step > 0]
    gaps = [after - before for before, after in pairwise(done)]
    return statistics.median(gaps) if gaps else job.pace_s


def _is_stuck(job: Job, last: Note, until_s: float) -> bool:
    if last.what != "enter":
        return False
    lasts = PROGRAMS[job.program].lockstep
    return lasts or until_s - last.at_s > max(STUCK_S, STUCK_STEPS * job.pace_s)

"""A task waits for its child, and the child waits until the task reads its pipe.

## What you see
The task stands still in `wait()`, `call()` or `poll()` of a child process that it gave a pipe.
Neither of the two uses a core, and neither ever ends: no time-out, no message.

## Why it happens
A pipe holds 64 KiB. A child that writes more than that to `stdout=PIPE` or `stderr=PIPE` waits
until somebody reads, and its parent, who alone could read, waits for it to end. It works in every
test, and hangs on the day on which the child prints more: warnings, a progress bar, a traceback.

## How to confirm it by hand
`cat /proc/CHILD/wchan` says `pipe_write`; `ls -l /proc/CHILD/fd` names the pipe, and the same pipe
is among `ls -l /proc/PARENT/fd`.

## What to do
Read what the child writes: `subprocess.run(..., capture_output=True)` or `communicate()` instead of
`wait()`. Or let it write to a file, or to the task's own output: leave `stderr=PIPE` out.
`holdfast.run_process` keeps all of it in files, and never waits for a reader.

## When this accusation would be wrong
If another thread of the task is about to read the pipe: so it is an error only if nothing was
written for seconds; and where the task has other threads at work in the program's own code it is
told no louder than any other standstill. A starved reader is no reason: who is able to run, and
holds the end from which nothing is read, waits for the writer.
"""

from collections.abc import Iterator
from typing import NamedTuple

from holdfast.model.activity_facts import ActivitySeen, ProcessActivity
from holdfast.model.cluster import TaskId
from holdfast.model.core_time import able_to_run_s
from holdfast.model.evidence import Evidence
from holdfast.model.findings import HUNG_CODE, Cause, Confidence, Proof
from holdfast.model.loudness import how_loud
from holdfast.model.remedies import AskHuman
from holdfast.model.stack_rounds import looks_at
from holdfast.model.stacks import main_thread
from holdfast.model.stance import own_frame
from holdfast.model.watch_facts import StacksSeen, TaskMoves
from holdfast.model.words import seconds_text

LASTS_S = 1.0  # between two looks that show the same


class _Stuck(NamedTuple):
    """A look at a process that writes to a pipe, whose other end its parent holds and waits."""

    look: ActivitySeen
    parent: ProcessActivity
    child: ProcessActivity

    @property
    def pids(self) -> tuple[int, int]:
        return self.parent.pid, self.child.pid


def detect(evidence: Evidence) -> Iterator[Proof]:
    for task in evidence.tasks:
        seen = _unmoved(evidence, task) if evidence.exit_of(task) is None else []
        if seen and seen[-1].look.at_s - seen[0].look.at_s >= LASTS_S:
            yield _proof(evidence, task, seen[0].look, seen[-1])


def _unmoved(evidence: Evidence, task: TaskId) -> list[_Stuck]:
    """The newest looks that show the same two processes, oldest first."""
    moved_s = max((fact.at_s for fact in evidence.of(TaskMoves, task)), default=-1.0)
    seen: list[_Stuck] = []
    for look in reversed(list(evidence.of(ActivitySeen, task))):
        stuck = _stuck_in(look)
        if stuck is None or look.at_s < moved_s or (seen and seen[-1].pids != stuck.pids):
            break
        seen.append(stuck)
    return seen[::-1]


def _stuck_in(look: ActivitySeen) -> _Stuck | None:
    waits = {one.pid: one for one in look.processes if one.does == "waits-for-child"}
    for child in look.processes:
        parent = waits.get(child.parent)
        full = child.does == "writes" and "pipe_write" in child.waits_in and child.moved_bytes <= 0
        if parent and full and child.holder.startswith(f"pid {parent.pid} "):
            return _Stuck(look, parent, child)
    return None


def _proof(evidence: Evidence, task: TaskId, first: ActivitySeen, stuck: _Stuck) -> Proof:
    last, parent, child = stuck
    # The process that trains may be the child: then its stack says nothing of who should read.
    looks = (look for look in looks_at(evidence, task) if look.pid == parent.pid)
    stack = max(looks, key=lambda look: look.at_s, default=None)
    others = _works_elsewhere(stack)
    able_s = able_to_run_s(evidence, task, since_s=first.at_s, until_s=last.at_s)
    lasts, at = seconds_text(last.at_s - first.at_s), _at(stack, parent)
    read = "communicate(), or subprocess.run(..., capture_output=True), instead of wait()"
    return Proof(
        facts=(first, last, stack) if stack else (first, last),
        culprit=task,
        confidence=Confidence.LIKELY if others else Confidence.CERTAIN,
        severity=how_loud(evidence, able_s, usual_s=0.0, works=False) if others else None,
        says=f"{task} waits{at} for its child pid {child.pid} ({child.command}), which waits until"
        f" pid {parent.pid} reads its pipe: it is full, and nothing was read for {lasts}",
        do=(
            f"read what the child writes{at}: {read}",
            "or give it a file, or no pipe at all; holdfast.run_process keeps its output in files",
        ),
        exit_code=HUNG_CODE,
    )


def _at(stack: StacksSeen | None, parent: ProcessActivity) -> str:
    main = main_thread(stack) if stack else None
    own = own_frame(main) if main else None
    line = f"{own} in {own.name}" if own else parent.at
    return f" at {line}" if line else ""


def _works_elsewhere(stack: StacksSeen | None) -> bool:
    """Whether another thread of the program could be the reader."""
    main = main_thread(stack) if stack else None
    threads = stack.threads if stack else ()
    return any(thread is not main and own_frame(thread) is not None for thread in threads)


cause = Cause(family="task-stalled", detect=detect, live=True, remedy=AskHuman())

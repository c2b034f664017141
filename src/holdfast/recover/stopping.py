"""Which signal really ends which kind of task, and when the next one is due.

Measured on TensorFlow 2.21: a MultiWorkerMirrored worker swallows SIGTERM; a server in
`join()` ignores SIGINT but dies of SIGTERM; SIGKILL ends everything. So those who train are
asked first, those who only serve are ended when nobody needs them, and what does not go
within its grace is killed.

A program may save its training when it is asked to end, as TensorFlow's PreemptionCheckpointHandler
does on SIGTERM. Then the grace is the time it has for that: no other signal may cut it short.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from holdfast.model.cluster import TaskId

SIGINT, SIGKILL, SIGTERM, SIGCONT = 2, 9, 15, 18
# Ctrl-C reaches Python code within seconds or, in a server's join(), never.
INTERRUPT_SHARE = 1 / 3


@dataclass(frozen=True, slots=True)
class Asked:
    """The last signal a task was sent to end it, and when."""

    signal: int
    at_s: float


def asks_with(signal: int, *, preempt_signal: int) -> int:
    """What asks who trains first: a scheduler's SIGTERM is said in the job's own language."""
    return preempt_signal if signal == SIGTERM else signal


def due_signals(
    running: Sequence[TaskId],
    *,
    workers_serve: bool,
    asked: Mapping[TaskId, Asked],
    first: int,
    grace_s: float,
    at_s: float,
    saves_on: int = SIGTERM,
) -> dict[TaskId, int]:
    """The signal to send now, for each task that needs one now."""
    trainers = [task for task in running if task.trains]
    saving = any(task not in asked or asked[task].signal != SIGKILL for task in trainers)
    due: dict[TaskId, int] = {}
    for task in running:
        # Parameter servers hold the variables that a last checkpoint needs.
        if task not in trainers and saving and grace_s > 0:
            continue
        serves_only = task not in trainers or (workers_serve and task.role == "worker")
        signal = _next(
            asked.get(task),
            first=SIGTERM if serves_only else first,
            hurry=serves_only,
            grace_s=grace_s,
            at_s=at_s,
            saves_on=saves_on,
        )
        if signal is not None:
            due[task] = signal
    return due


def _next(
    asked: Asked | None,
    *,
    first: int,
    hurry: bool,
    grace_s: float,
    at_s: float,
    saves_on: int,
) -> int | None:
    if grace_s == 0:
        return None if asked and asked.signal == SIGKILL else SIGKILL
    if asked is None:
        return first
    if asked.signal == SIGKILL:
        return None
    waited_s = at_s - asked.at_s
    if asked.signal == SIGTERM or (asked.signal == saves_on and not hurry):
        return SIGKILL if waited_s >= grace_s else None
    patience_s = 0.0 if hurry else grace_s * INTERRUPT_SHARE
    return SIGTERM if waited_s >= patience_s else None

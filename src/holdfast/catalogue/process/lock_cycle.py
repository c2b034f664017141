"""Tasks of one host wait in a circle for file locks that the next of them holds.

## What you see
The job stands still, and no task says anything: each sleeps in `flock` or `fcntl`.

## Why it happens
Two tasks take two locked files in opposite orders: each has the one, and waits for the other. The
kernel finds no such circle between `flock`s.

## How to confirm it by hand
`cat /proc/locks`: a line with `->` is somebody who waits, below the one who holds it.

## What to do
Take the locks in the same order in all tasks, or ask for the second without waiting (`LOCK_NB`) and
give the first one back where it is refused.

## When this accusation would be wrong
When another thread of one of them gives its lock back later. That is why it must be found twice,
with nobody moving meanwhile, and is a warning. A starved task that waits for a lock waits in the
kernel all the same: load makes no circle.
"""

from collections.abc import Iterator

from holdfast.model.activity_facts import ActivitySeen, ProcessActivity
from holdfast.model.cluster import TaskId
from holdfast.model.evidence import Evidence
from holdfast.model.findings import HUNG_CODE, Cause, Confidence, Proof, Severity
from holdfast.model.pattern import Pattern
from holdfast.model.remedies import AskHuman
from holdfast.model.stack_rounds import APART_S, looks_at
from holdfast.model.stacks import user_frame
from holdfast.model.watch_facts import TaskMoves
from holdfast.model.words import listed, seconds_text

HOLDER = Pattern(r"^pid (\d+)\b")


def detect(evidence: Evidence) -> Iterator[Proof]:
    looks = {task: list(evidence.of(ActivitySeen, task)) for task in evidence.tasks}
    owners = {
        (look.host, process.pid): task
        for task, seen in looks.items()
        for look in seen[-1:]
        for process in look.processes
    }
    waits = {
        task: (owner, wait)
        for task, seen in looks.items()
        if (wait := _lasting_wait(evidence, task, seen))
        and (owner := owners.get((seen[-1].host, _holder(wait)))) not in {None, task}
    }
    told: set[TaskId] = set()
    for task in sorted(waits):
        ring = _ring(task, {waiter: owner for waiter, (owner, _) in waits.items()})
        if ring and not told & set(ring):
            told |= set(ring)
            yield _proof(evidence, ring, {one: waits[one][1] for one in ring}, looks)


def _lasting_wait(
    evidence: Evidence, task: TaskId, looks: list[ActivitySeen]
) -> ProcessActivity | None:
    """The lock that its main process waits for, in the last looks, and nothing moved meanwhile."""
    last = looks[-1] if looks else None
    wait = _wait(last) if last else None
    if last is None or wait is None:
        return None
    before = [look for look in looks if last.at_s - look.at_s >= APART_S][-1:]
    same = any(
        (one := _wait(look)) and (one.on, one.holder) == (wait.on, wait.holder) for look in before
    )
    moved = (
        any(fact.at_s > before[0].at_s for fact in evidence.of(TaskMoves, task)) if same else True
    )
    return None if moved else wait


def _wait(look: ActivitySeen) -> ProcessActivity | None:
    first = look.processes[0] if look.processes else None
    return first if first and first.does == "waits-for-lock" and _holder(first) else None


def _holder(process: ProcessActivity) -> int:
    found = HOLDER.search(process.holder)
    return int(found.group(1)) if found else 0


def _ring(start: TaskId, edges: dict[TaskId, TaskId | None]) -> list[TaskId]:
    """From one task along the edges back to itself; empty where they lead elsewhere."""
    ring: list[TaskId] = []
    here: TaskId | None = start
    while here is not None and here not in ring:
        ring.append(here)
        here = edges.get(here)
    return ring if here == start else []


def _proof(
    evidence: Evidence,
    ring: list[TaskId],
    waits: dict[TaskId, ProcessActivity],
    looks: dict[TaskId, list[ActivitySeen]],
) -> Proof:
    files = listed(sorted({waits[task].on for task in ring}))
    since_s = max(_since_s(looks[task], waits[task]) for task in ring)
    now_s = max(looks[task][-1].at_s for task in ring)
    parts = [
        f"{task} waits{_place(evidence, task)} for {waits[task].on}, which {holder} holds"
        for task, holder in zip(ring, (*ring[1:], ring[0]), strict=True)
    ]
    return Proof(
        facts=tuple(look for task in ring for look in looks[task][-1:]),
        culprit=None,
        confidence=Confidence.HIGH,
        says=f"{listed(ring)} wait for each other's file locks for {seconds_text(now_s - since_s)}:"
        f" {'; '.join(parts)}",
        do=(
            f"take {files} in the same order in all tasks",
            "or ask without waiting (LOCK_NB), and give the first lock back where it is refused",
        ),
        exit_code=HUNG_CODE,
    )


def _since_s(looks: list[ActivitySeen], wait: ProcessActivity) -> float:
    """The first look of those in which it waits for this lock without a break."""
    since_s = looks[-1].at_s
    for look in reversed(looks):
        one = _wait(look)
        if one is None or one.on != wait.on:
            break
        since_s = look.at_s
    return since_s


def _place(evidence: Evidence, task: TaskId) -> str:
    """The line of the program; empty where its stack could not be read."""
    seen = looks_at(evidence, task)[-1:]
    frame = user_frame(seen[0].threads[0]) if seen and seen[0].threads else None
    return f" at {frame} in {frame.name}" if frame else ""


cause = Cause(
    family="deadlock",
    detect=detect,
    remedy=AskHuman(),
    severity=Severity.WARNING,
    live=True,
)

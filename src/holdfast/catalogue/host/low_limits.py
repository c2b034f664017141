"""A limit on open files or threads is too low for the tasks that belong on a host.

## What you see
Before the start nothing. Later `Too many open files`, `Resource temporarily unavailable`,
`pthread_create failed` or `can't start new thread`, often only when all tasks are up.

## Why it happens
A TensorFlow task starts about 120 threads on a small machine and more on a large one, and
holds a connection to each of its peers. Containers and batch systems limit both.

## How to confirm it by hand
`ulimit -n; ulimit -u; cat /sys/fs/cgroup/pids.max /sys/fs/cgroup/pids.current`

## What to do
Raise the limit before the start: `ulimit -n 65536`, `docker run --pids-limit=-1`, or
`TasksMax=infinity` in the unit file of whoever starts the tasks.

## When this accusation would be wrong
When the program itself raises its limit of open files, or the threads that are counted now are
gone by the time of the start.
"""

from collections.abc import Iterator

from holdfast.model.begun import begun_tasks, only_task_of, tasks_to_start
from holdfast.model.evidence import Evidence
from holdfast.model.facts import LimitSeen, SpecRead, TaskExited, TaskStarted
from holdfast.model.findings import Cause, Confidence, Proof, Severity
from holdfast.model.remedies import AskHuman

FILES_MIN = 16  # a server without connections holds 11
FILES_ENOUGH = 1024
MANY_TASKS = 50
THREADS_MIN = 60  # a server alone starts 89, with two processors
THREADS_ENOUGH = 120
RAISE_THREADS = {
    "user-threads": "raise it: ulimit -u 65536",
    "cgroup-threads": "raise it: docker run --pids-limit=-1, or TasksMax=infinity in the unit file",
}


def detect(evidence: Evidence) -> Iterator[Proof]:
    if any(evidence.failures()):
        return  # from then on what happened counts, not what might
    begun = begun_tasks(evidence) | {fact.task for fact in evidence.of(TaskExited)}
    busy = {fact.host for fact in evidence.of(TaskStarted)}
    last = {(seen.host, seen.task, seen.limit): seen for seen in evidence.of(LimitSeen)}
    for seen in last.values():
        if seen.task in begun or (seen.task is None and seen.host in busy):
            continue  # who is up has what it needs
        if seen.limit == "open-files":
            yield from _files(evidence, seen)
        elif seen.limit in RAISE_THREADS and seen.used >= 0:
            yield from _threads(evidence, seen)


def _files(evidence: Evidence, seen: LimitSeen) -> Iterator[Proof]:
    members = [sum(map(len, spec.cluster.values())) for spec in evidence.of(SpecRead)]
    tasks = max(len(evidence.tasks), *members, 1)
    too_few = seen.soft < FILES_MIN + tasks
    if not too_few and not (seen.soft < FILES_ENOUGH and tasks > MANY_TASKS):
        return
    yield Proof(
        facts=(seen,),
        culprit=seen.task or only_task_of(evidence, seen.host),
        severity=Severity.ERROR if too_few else Severity.WARNING,
        confidence=Confidence.HIGH,
        says=(
            f"a task on {seen.host} may open {seen.soft} files: it needs about {FILES_MIN}, one"
            f" more for each of {tasks} tasks, and those of its input"
        ),
        do=("raise the limit before the start: ulimit -n 65536",),
    )


def _threads(evidence: Evidence, seen: LimitSeen) -> Iterator[Proof]:
    tasks = 1 if seen.task else len(tasks_to_start(evidence, seen.host)) or 1
    left = max(0, seen.soft - seen.used)
    if left >= THREADS_ENOUGH * tasks:
        return
    too_few = left < THREADS_MIN * tasks
    yield Proof(
        facts=(seen,),
        culprit=seen.task or only_task_of(evidence, seen.host),
        severity=Severity.ERROR if too_few else Severity.WARNING,
        confidence=Confidence.CERTAIN if too_few else Confidence.LIKELY,
        says=(
            f"{left:,} more threads may be started on {seen.host} ({seen.used:,} of"
            f" {seen.soft:,} are), and a TensorFlow task takes about {THREADS_ENOUGH}:"
            f" too few for {tasks} {'task' if tasks == 1 else 'tasks'}"
        ),
        do=(
            RAISE_THREADS[seen.limit],
            "or end what holds them: ps -eo nlwp,pid,user,comm --sort=-nlwp | head",
        ),
    )


cause = Cause(
    family="ps-overload-resource",
    detect=detect,
    remedy=AskHuman(),
    severity=Severity.WARNING,
)

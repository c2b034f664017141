"""A host has too little memory for the tasks that belong on it.

## What you see
Before the start nothing. Later the kernel kills a task while it loads TensorFlow, builds its
model or shuffles its input, and the others wait for it; or the host swaps, and all are slow.

## Why it happens
More tasks were put on a host than it can hold, somebody else uses its memory, or a container
or batch system gives the job less than the machine has.

## How to confirm it by hand
`free -m`, and `cat /sys/fs/cgroup/memory.max` inside the container or job. A TensorFlow task
takes 560 to 590 MB before it has a model.

## What to do
Put fewer tasks on this host, raise the limit of the container or batch job, or take a larger
host.

## When this accusation would be wrong
When somebody who uses the memory now is gone by the time of the start. Tasks that are up
already do not count: what they use is theirs.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from holdfast.model.begun import only_task_of, tasks_to_start
from holdfast.model.evidence import Evidence
from holdfast.model.facts import HostMeasured
from holdfast.model.findings import Cause, Confidence, Proof, Severity
from holdfast.model.remedies import AskHuman

MB = 1_000_000
IDLE_TASK_BYTES = 600 * MB
SCARCE_TASK_BYTES = 1_000 * MB


@dataclass(frozen=True, slots=True)
class Room:
    """What one host has for each task that is still to be started there."""

    fact: HostMeasured
    tasks: int
    usable_bytes: int
    roles: frozenset[str]

    @property
    def task_bytes(self) -> int:
        return self.usable_bytes // self.tasks


def detect(evidence: Evidence) -> Iterator[Proof]:
    if any(evidence.failures()):
        return  # from then on what happened counts, not what might
    rooms = [room for fact in _last_looks(evidence) if (room := _room(evidence, fact))]
    for room in rooms:
        if room.task_bytes < SCARCE_TASK_BYTES:
            yield _too_small(evidence, room)
    weakest = min(rooms, key=lambda room: room.task_bytes, default=None)
    if weakest and weakest.task_bytes >= SCARCE_TASK_BYTES:
        yield from _weakest(evidence, weakest, rooms)


def _last_looks(evidence: Evidence) -> list[HostMeasured]:
    return list({fact.host: fact for fact in evidence.of(HostMeasured)}.values())


def _room(evidence: Evidence, fact: HostMeasured) -> Room | None:
    names = tasks_to_start(evidence, fact.host)
    if not names or fact.memory_bytes <= 0:
        return None
    limit = fact.memory_bytes if fact.cgroup_limit_bytes is None else fact.cgroup_limit_bytes
    roles = frozenset(name.partition(":")[0] for name in names)
    return Room(fact, len(names), min(fact.memory_free_bytes, limit), roles)


def _too_small(evidence: Evidence, room: Room) -> Proof:
    fact = room.fact
    many = "1 task" if room.tasks == 1 else f"{room.tasks} tasks"
    limit = fact.cgroup_limit_bytes or 0
    limited = 0 < limit < fact.memory_bytes
    bound = f", by a limit of {limit // MB:,} MB" if limited else ""
    return Proof(
        facts=(fact,),
        culprit=only_task_of(evidence, fact.host),
        severity=Severity.ERROR if room.task_bytes < IDLE_TASK_BYTES else Severity.WARNING,
        confidence=Confidence.HIGH,
        says=(
            f"{fact.host} has {room.usable_bytes // MB:,} MB of memory for {many}{bound}:"
            f" {room.task_bytes // MB:,} MB each, and TensorFlow alone takes"
            f" {IDLE_TASK_BYTES // MB} MB"
        ),
        do=(
            f"put at most {room.usable_bytes // SCARCE_TASK_BYTES or 'no'} tasks on {fact.host}",
            "or raise the memory limit of the container or batch job"
            if limited
            else "or see who uses the memory: ps -eo rss,pid,user,comm --sort=-rss | head",
        ),
    )


def _weakest(evidence: Evidence, weakest: Room, rooms: list[Room]) -> Iterator[Proof]:
    """A host far below its equals: those whose tasks do the same work."""
    equals = sorted(room.task_bytes for room in rooms if room.roles == weakest.roles)
    median = equals[len(equals) // 2]
    if weakest.task_bytes * 2 >= median:
        return
    host = weakest.fact.host
    yield Proof(
        facts=(weakest.fact,),
        culprit=only_task_of(evidence, host),
        severity=Severity.WARNING,
        confidence=Confidence.LIKELY,
        says=(
            f"{host} has {weakest.task_bytes // MB:,} MB of memory a task, less than half of the"
            f" {median // MB:,} MB that hosts with such tasks have: it will be the first to run out"
        ),
        do=(
            f"size the batch for {host}, or put fewer tasks on it",
            f"see who uses its memory: ssh {host} free -m",
        ),
    )


cause = Cause(family="oom-host", detect=detect, remedy=AskHuman())

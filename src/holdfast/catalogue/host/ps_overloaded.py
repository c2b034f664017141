"""A parameter server cannot keep up: the workers wait for it.

## What you see
Steps take longer the more workers there are, and the workers' own cores idle. One parameter
server works all the time, or at the limit of its quota.

## Why it happens
Too few parameter servers for so many workers, one that holds the variables everybody needs (a
large embedding that is not partitioned), a CPU quota, or a slow host.

## How to confirm it by hand
`top` on the hosts of the parameter servers: one is at its limit, the workers are not. The
placement of variables: `print({v.name: v.device for v in model.variables})`.

## What to do
Add parameter servers, partition the large variables (`FixedShardsPartitioner`,
`MinSizePartitioner`), give the busy one more cores.

## When this accusation would be wrong
A parameter server may be busy and still keep up: it is accused only when those that train are
slower or still, or idle at the same time. When all of them run on one machine whose cores are
used up, nobody can say who waits for whom.
"""

from collections.abc import Iterator

from holdfast.model.cluster import TaskId
from holdfast.model.evidence import Evidence
from holdfast.model.facts import Fact
from holdfast.model.findings import Cause, Confidence, Proof, Severity
from holdfast.model.middle import median
from holdfast.model.pace import slowed
from holdfast.model.remedies import AskHuman
from holdfast.model.watch_facts import (
    HostSampled,
    LinkSeen,
    StepsSeen,
    TaskSampled,
    TaskSlow,
    TaskStill,
)
from holdfast.model.words import listed, wait

LASTING_S = 20.0
LIMIT_SHARE = 0.85  # of the cores that it may use
THROTTLED_SHARE = 0.3
WORKER_IDLE_SHARE = 0.6  # of a core
HOT_FACTOR = 3.0
HOT_CORES_MIN = 0.5  # below that, a difference harms nobody
RECENT_S = 75.0


def detect(evidence: Evidence) -> Iterator[Proof]:
    servers = [task for task in evidence.tasks if task.role == "ps"]
    found = {task: row for task in servers if (row := _row(evidence, task))}
    for task, row in found.items():
        limit = _limit(evidence, row)
        waiting = _waiting(evidence, row)
        others = [_cores(other) for name, other in found.items() if name != task]
        if limit and waiting:
            yield _overloaded(task, row, limit, waiting)
        elif others and _cores(row) >= max(HOT_CORES_MIN, HOT_FACTOR * median(others)):
            yield _hot(task, row, max(found.keys() - {task}), median(others))


def _row(evidence: Evidence, task: TaskId) -> list[TaskSampled]:
    """The newest samples of a task that cover long enough; none of a task that is gone."""
    now_s = max(fact.at_s for fact in evidence.facts)
    row: list[TaskSampled] = []
    for sample in reversed(list(evidence.of(TaskSampled, task))):
        if now_s - sample.at_s > RECENT_S:
            break
        row.insert(0, sample)
        if row[-1].at_s - row[0].at_s + row[0].over_s >= LASTING_S:
            return [] if evidence.exit_of(task) else row
    return []


def _cores(row: list[TaskSampled]) -> float:
    """That it used, over all of its samples."""
    return sum(one.cpu_share * one.over_s for one in row) / sum(one.over_s for one in row)


def _limit(evidence: Evidence, row: list[TaskSampled]) -> str:
    """At what it has come to its limit; empty: it has not."""
    last = row[-1]
    if all(one.throttled_share >= THROTTLED_SHARE for one in row):
        quota = f" of {last.quota_cores:g} cores" if last.quota_cores else ""
        kept = f"{last.throttled_share:.0%} of the time"
        return f"its CPU quota{quota} keeps it from running {kept}"
    host = next((one for one in evidence.of(HostSampled) if one.host == last.host), None)
    alone = not any(
        fact.host == last.host and fact.task and fact.task.trains
        for fact in evidence.of(TaskSampled)
    )
    if host is not None and alone and _cores(row) >= LIMIT_SHARE * host.cpus:
        return f"it uses {_cores(row):.1f} of the {host.cpus} cores of {last.host}"
    return ""


def _waiting(evidence: Evidence, row: list[TaskSampled]) -> list[Fact]:
    """Facts of those that train which show that they wait for it."""
    ps, since_s = row[0].task, row[0].at_s - row[0].over_s
    found: list[Fact] = [
        fact
        for kind in (TaskSlow, TaskStill)
        for fact in evidence.of(kind)
        if fact.task
        and fact.task.trains
        and fact.at_s >= since_s
        and not (isinstance(fact, TaskSlow) and fact.factor <= 1)
    ]
    found += [
        slow[-1]
        for task in evidence.tasks
        if task.trains and (slow := slowed(evidence, task)) and slow[-1].at_s >= since_s
    ]
    found += [
        link
        for link in evidence.of(LinkSeen)
        if link.peer == ps and link.send_bytes and link.at_s >= since_s
    ]
    idle = {
        sample.task: sample
        for sample in evidence.of(TaskSampled)
        if sample.task and sample.task.role == "worker" and sample.at_s >= since_s
    }
    if idle and all(one.cpu_share <= WORKER_IDLE_SHARE for one in idle.values()):
        found += idle.values()
    return found


def _overloaded(task: TaskId, row: list[TaskSampled], limit: str, waiting: list[Fact]) -> Proof:
    suffers = any(isinstance(fact, TaskSlow | TaskStill | StepsSeen) for fact in waiting)
    who = sorted({fact.task for fact in waiting if fact.task})
    return Proof(
        facts=(*row[-1:], *waiting[:4]),
        culprit=task,
        confidence=Confidence.HIGH if suffers else Confidence.LIKELY,
        severity=Severity.ERROR if suffers else Severity.WARNING,
        says=f"{task} is at its limit, and {listed(who)} {wait(len(who))} for it: {limit}",
        do=(
            f"give {task} more cores, or add parameter servers: --ps N",
            "partition large variables: tf.distribute.experimental.partitioners.MinSizePartitioner",
        ),
    )


def _hot(task: TaskId, row: list[TaskSampled], other: TaskId, others: float) -> Proof:
    return Proof(
        facts=(row[-1],),
        culprit=task,
        confidence=Confidence.LIKELY,
        severity=Severity.WARNING,
        says=f"{task} holds the hot variables: it uses {_cores(row):.2f} cores,"
        f" the other parameter servers {others:.2f} in the middle",
        do=(
            "see where the variables are: print({v.name: v.device for v in model.variables})",
            f"partition what {task} holds over {other} and the others: FixedShardsPartitioner",
        ),
    )


cause = Cause(
    family="ps-overload-resource",
    detect=detect,
    live=True,
    remedy=AskHuman(),
    severity=Severity.WARNING,
    yields_to=frozenset({"stopped"}),
)

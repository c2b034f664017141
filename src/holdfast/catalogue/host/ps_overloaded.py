"""A parameter server cannot keep up: the workers wait for it.

## What you see
Steps take longer the more workers there are, and the workers' own cores idle. One parameter
server works all the time on the cores that it may use, or at the limit of its quota; or it hardly
works, and what it and the workers send each other fills the network all the time.

## Why it happens
Too few parameter servers for so many workers, one that holds the variables everybody needs (a
large embedding that is not partitioned), a CPU quota, cores that it is bound to (`taskset`,
`cpuset`, a scheduler), a slow host, or a network that is too narrow for what every step moves.

## How to confirm it by hand
`top` on the hosts of the parameter servers: one is at its limit, the workers are not. The
placement of variables: `print({v.name: v.device for v in model.variables})`. Which cores it may
use: `taskset -cp PID`. For the network `ss -tin`: of its connections, `busy` grows as fast as the
time passes, and `rwnd_limited` and `sndbuf_limited` do not.

## What to do
Add parameter servers, partition the large variables (`FixedShardsPartitioner`,
`MinSizePartitioner`), give the busy one more cores. Where the network is full: larger batches, so
that fewer steps move the same variables, smaller types (`float16`), more hosts with servers.

## When this accusation would be wrong
A parameter server may be busy and still keep up: it is accused only when those that train are
slower or still, or idle at the same time. When all of them run on one machine whose cores are used
up, nobody can say who waits for whom, nor where the workers have no cores but its own. A network
is full only while data waits for nothing else: not for a peer that does not read, nor for a task
that is starved. Where much gets lost it is `packet-loss`. A server that is starved by other
programs is `cpu-starved`; this is a warning, never an error.
"""

from collections.abc import Iterator
from typing import NamedTuple

from holdfast.model.cluster import TaskId
from holdfast.model.core_list import cores_in
from holdfast.model.evidence import Evidence
from holdfast.model.facts import Fact
from holdfast.model.findings import Cause, Confidence, Proof, Severity
from holdfast.model.middle import median
from holdfast.model.pace import slowed
from holdfast.model.remedies import AskHuman
from holdfast.model.watch_facts import (
    HostSampled,
    LinkSeen,
    LinksSampled,
    StepsSeen,
    TaskSampled,
    TaskSlow,
    TaskStill,
)
from holdfast.model.words import bytes_text, listed, wait

LASTING_S = 20.0
LIMIT_SHARE = 0.85  # of the cores that it may use
THROTTLED_SHARE = 0.3
WORKER_IDLE_SHARE = 0.6  # of a core
HOT_FACTOR = 3.0
HOT_CORES_MIN = 0.5  # below that, a difference harms nobody
RECENT_S = 75.0
BOUND_SHARE_MAX = 1.15  # of the cores that its main thread may use: others may use more
NETWORK_SHARE = 0.8  # of the time; a peer that computes in between leaves more of it free
NETWORK_BYTES_PER_S = 1 << 20  # all together: less than that is no matter of bandwidth
SHOWN_MAX = 4
LOST_SHARE_MAX = 0.02  # of all segments; beyond it, the network is not full, but bad


class Limit(NamedTuple):
    """At what a parameter server has come to its limit."""

    says: str
    do: str
    facts: tuple[Fact, ...] = ()


def detect(evidence: Evidence) -> Iterator[Proof]:
    servers = [task for task in evidence.tasks if task.role == "ps"]
    found = {task: row for task in servers if (row := _row(evidence, task))}
    for task, row in found.items():
        limit = _limit(evidence, row) or _full_network(evidence, row)
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


def _limit(evidence: Evidence, row: list[TaskSampled]) -> Limit | None:
    """Of the cores that it may use; None: it has not come to it."""
    last = row[-1]
    do = f"give {last.task} more cores, or add parameter servers: --ps N"
    if all(one.throttled_share >= THROTTLED_SHARE for one in row):
        quota = f" of {last.quota_cores:g} cores" if last.quota_cores else ""
        kept = f"{last.throttled_share:.0%} of the time"
        return Limit(f"its CPU quota{quota} keeps it from running {kept}", do)
    if bound := _bound(evidence, row):
        return bound
    host = next((one for one in evidence.of(HostSampled) if one.host == last.host), None)
    alone = not any(
        fact.host == last.host and fact.task and fact.task.trains
        for fact in evidence.of(TaskSampled)
    )
    if host is not None and alone and _cores(row) >= LIMIT_SHARE * host.cpus:
        return Limit(f"it uses {_cores(row):.1f} of the {host.cpus} cores of {last.host}", do)
    return None


def _bound(evidence: Evidence, row: list[TaskSampled]) -> Limit | None:
    """Whether it uses all of the few cores that it is bound to, and those that train have more."""
    last, used = row[-1], _cores(row)
    own = cores_in(last.runs_on)
    others = {
        fact.task: cores_in(fact.runs_on)
        for fact in evidence.of(TaskSampled)
        if fact.host == last.host and fact.task and fact.task.trains
    }
    crowded = any(cores and cores <= own for cores in others.values())
    if not own or crowded or not LIMIT_SHARE <= used / len(own) <= BOUND_SHARE_MAX:
        return None
    cores = f"core {last.runs_on}" if len(own) == 1 else f"cores {last.runs_on}"
    return Limit(
        f"it uses {used:.2f} of the {len(own)} that it may run on ({cores})",
        f"let {last.task} run on more cores: taskset -acp CORES {last.pid}; or add"
        " parameter servers: --ps N",
    )


def _full_network(evidence: Evidence, row: list[TaskSampled]) -> Limit | None:
    """What goes between it and those that train waits for the network nearly all the time."""
    ps, since_s = row[0].task, row[-1].at_s - LASTING_S
    here = [fact for fact in evidence.of(HostSampled) if fact.host == row[0].host]
    sent = sum(fact.segments_sent for fact in here if fact.at_s >= since_s)
    again = sum(fact.segments_again for fact in here if fact.at_s >= since_s)
    if again > LOST_SHARE_MAX * sent:
        return None
    ways: dict[tuple[str, str], list[LinksSampled]] = {}
    for fact in evidence.of(LinksSampled):
        for peer in fact.network_share if fact.at_s >= since_s else ():
            if (fact.task == ps) != (peer == str(ps)):
                ways.setdefault((str(fact.task), peer), []).append(fact)
    full = {way: facts[-1] for way, facts in ways.items() if _is_full(facts, way[1])}
    carried = sum(fact.sent_bytes_per_s[peer] for (_, peer), fact in full.items())
    if carried < NETWORK_BYTES_PER_S:
        return None
    share = max(fact.network_share[peer] for (_, peer), fact in full.items())
    peers = listed(sorted({name for way in full for name in way} - {str(ps)}))
    return Limit(
        f"the network between it and {peers} carries {bytes_text(int(carried))} a second, and what"
        f" is sent waits for nothing else {share:.0%} of the time",
        "move less in every step, by larger batches or float16, or spread the variables over"
        " parameter servers on more hosts",
        tuple({fact.task: fact for fact in full.values()}.values()),
    )


def _is_full(facts: list[LinksSampled], peer: str) -> bool:
    """In every sample, and for long enough."""
    lasting_s = facts[-1].at_s - facts[0].at_s + facts[0].over_s
    full = all(fact.network_share[peer] >= NETWORK_SHARE for fact in facts)
    return full and lasting_s >= LASTING_S - 1


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


def _overloaded(task: TaskId, row: list[TaskSampled], limit: Limit, waiting: list[Fact]) -> Proof:
    suffers = any(isinstance(fact, TaskSlow | TaskStill | StepsSeen) for fact in waiting)
    who = sorted({fact.task for fact in waiting if fact.task})
    return Proof(
        facts=(*limit.facts[:SHOWN_MAX], *row[-1:], *waiting[:SHOWN_MAX]),
        culprit=task,
        confidence=Confidence.HIGH if suffers else Confidence.LIKELY,
        severity=Severity.WARNING,
        says=f"{task} is at its limit, and {listed(who)} {wait(len(who))} for it: {limit.says}",
        do=(
            limit.do,
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

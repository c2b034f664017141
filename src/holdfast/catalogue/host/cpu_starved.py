"""A task gets too little of a core: other programs use them, or a quota keeps it from running.

## What you see
Steps take longer, on every task of a synchronous job; nobody says a word. At the worst TensorFlow
gives the task up, because its heartbeats come too late.

## Why it happens
A neighbour on the same machine uses the cores, or the CPU quota of its container or cgroup is far
below what it needs.

## How to confirm it by hand
`top` for who uses the cores. `cat /proc/PID/schedstat`: the second number grows by the
nanoseconds that it wanted a core and got none. `nr_throttled` in the `cpu.stat` of its cgroup.

## What to do
Move the other program, or give the task more: a higher quota, cores of its own (`taskset`,
`cpuset`), a better `nice`.

## When this accusation would be wrong
When a job has more tasks than the machine has cores, its tasks wait for each other: that is how it
was started, and no fault. So somebody else must use the cores, or a quota keep the task from them.
Whether training suffers only its steps tell; until they do, this is a warning. It is a warning,
and names who is starved, not who is to blame for anything: the programs that use the cores stand
in its sentence.
"""

from collections.abc import Callable, Iterator

from holdfast.model.cluster import TaskId
from holdfast.model.evidence import Evidence
from holdfast.model.facts import Fact
from holdfast.model.findings import Cause, Confidence, Proof, Severity
from holdfast.model.pattern import Pattern
from holdfast.model.remedies import AskHuman
from holdfast.model.watch_facts import (
    HostSampled,
    TaskMoves,
    TaskSampled,
    TaskSlow,
    TaskStill,
    TaskWaits,
)
from holdfast.model.wording import Weight, Words
from holdfast.model.words import listed, seconds_text

STARVED_SHARE = 0.5
THROTTLED_SHARE = 0.3
QUOTA_USED_SHARE = 0.7  # with less than this, a quota does not matter
LASTING_S = 20.0
RECENT_S = 75.0  # a task that is well again says so within a minute
OTHERS_CORES = 0.5


def detect(evidence: Evidence) -> Iterator[Proof]:
    now_s = max((fact.at_s for fact in evidence.facts), default=0.0)
    for task in evidence.tasks:
        samples = list(evidence.of(TaskSampled, task))
        if not samples or now_s - samples[-1].at_s > RECENT_S or evidence.exit_of(task):
            continue
        if throttled := _lasting(samples, _is_throttled):
            yield _by_quota(evidence, throttled)
            continue
        starved = _lasting(samples, _is_starved)
        # What it wanted before it began to wait hurts it no more.
        if starved and not _waits(evidence, task) and (hogs := _hogs(evidence, starved)):
            yield _by_others(evidence, starved, hogs)


def _waits(evidence: Evidence, task: TaskId) -> bool:
    told = max(evidence.of(TaskWaits, task), key=lambda fact: fact.at_s, default=None)
    return told is not None and told.waits_s > 0


def _is_throttled(sample: TaskSampled) -> bool:
    return sample.throttled_share >= THROTTLED_SHARE


def _is_starved(sample: TaskSampled) -> bool:
    """Not by its own quota: of that, others are not to blame."""
    at_quota = sample.quota_cores and sample.cpu_share >= QUOTA_USED_SHARE * sample.quota_cores
    return _waited_share(sample) >= STARVED_SHARE and not at_quota


def _waited_share(sample: TaskSampled) -> float:
    return max(sample.starved_share, sample.threads_starved_share)


def _lasting(
    samples: list[TaskSampled], is_short: Callable[[TaskSampled], bool]
) -> list[TaskSampled]:
    """The newest samples that are all so, if they cover long enough; else none."""
    row: list[TaskSampled] = []
    for sample in reversed(samples):
        if not is_short(sample):
            break
        row.insert(0, sample)
    if not row or row[-1].at_s - row[0].at_s + row[0].over_s < LASTING_S:
        return []
    return row


def _hogs(evidence: Evidence, row: list[TaskSampled]) -> list[HostSampled]:
    """Looks at its host in which other programs used the cores, most of those of that time."""
    host, since_s = row[0].host, row[0].at_s - row[0].over_s
    looks = [
        look
        for look in evidence.of(HostSampled)
        if look.host == host and since_s <= look.at_s <= row[-1].at_s
    ]
    hogged = [look for look in looks if sum(look.others.values()) >= OTHERS_CORES]
    return hogged if 2 * len(hogged) > len(looks) else []


def _by_quota(evidence: Evidence, row: list[TaskSampled]) -> Proof:
    last = row[-1]
    quota = f" of {last.quota_cores:g} cores" if last.quota_cores else ""
    cgroup = f" of cgroup {last.quota_of}" if last.quota_of else " of its cgroup"
    harm = _harm(evidence, last.task)
    return Proof(
        facts=(row[0], last, *harm) if last is not row[0] else (last, *harm),
        culprit=last.task,
        confidence=Confidence.HIGH,
        severity=Severity.WARNING,
        says=f"the CPU quota{quota}{cgroup} keeps {last.task} from running"
        f" {last.throttled_share:.0%} of the time, for {seconds_text(_span_s(row))} now",
        do=(
            f"raise the quota{cgroup}: cpu.cfs_quota_us (v1), cpu.max (v2), docker --cpus",
            "see it: nr_throttled in its cpu.stat",
        ),
    )


def _by_others(evidence: Evidence, row: list[TaskSampled], hogs: list[HostSampled]) -> Proof:
    last, hog = row[-1], hogs[-1]
    harm = _harm(evidence, last.task)
    share = sum(map(_waited_share, row)) / len(row)
    who = listed(f"{name} ({cores:g} cores)" for name, cores in hog.others.items())
    return Proof(
        facts=(row[0], hog, *harm),
        culprit=last.task,
        # A busy host makes everybody slow, and nobody fail: how busy is the owner's choice.
        confidence=Confidence.HIGH if harm else Confidence.LIKELY,
        severity=Severity.WARNING,
        says=f"{last.task} wanted a core and got none {share:.0%} of the last"
        f" {seconds_text(_span_s(row))}: other programs use the {hog.cpus} cores of {last.host}:"
        f" {who}",
        do=(
            f"see who uses the cores of {last.host}: top -b -n 1 -o %CPU | head -15",
            "move or renice them, or give the job cores of its own: taskset, a cpuset, --exclusive",
        ),
    )


def _span_s(row: list[TaskSampled]) -> float:
    return row[-1].at_s - row[0].at_s + row[0].over_s


def _harm(evidence: Evidence, task: TaskId | None) -> tuple[Fact, ...]:
    """What shows that its training suffers now; empty where nothing does."""
    slow = max(evidence.of(TaskSlow, task), key=lambda fact: fact.at_s, default=None)
    still = max(evidence.of(TaskStill, task), key=lambda fact: fact.at_s, default=None)
    moved_s = max((fact.at_s for fact in evidence.of(TaskMoves, task)), default=-1.0)
    found: list[Fact] = [slow] if slow is not None and slow.factor > 1 else []
    found += [still] if still is not None and still.at_s > moved_s else []
    return tuple(found)


# What other watchers and the kernel say of a host that is too busy to run its own programs.
WORDS = (
    Words(
        Pattern(r"There might be resource pressure on this node"),
        Weight.SIGN,
        says="{who} is too busy to say in time that it lives: {line}",
    ),
    Words(
        Pattern(
            r"(?:(?P<culprit>[\w.-]+) kernel: [^\n]*)?(?:BUG: soft lockup - CPU#\d+ stuck for"
            r"|rcu_\w+ (?:self-)?detected stalls? on|Watchdog detected hard LOCKUP)"
        ),
        Weight.SIGN,
        says="the kernel of {who} found a core that was stuck: {line}",
    ),
)

cause = Cause(
    family="task-stalled",
    detect=detect,
    live=True,
    remedy=AskHuman(),
    severity=Severity.WARNING,
    words=WORDS,
    do=(
        "see who uses its cores: top -b -n 1 -o %CPU | head -15; nproc; uptime",
        "move the others, or give the job cores of its own: taskset, a cpuset, --exclusive",
    ),
    yields_to=frozenset({"ps-overloaded"}),
)

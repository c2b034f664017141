"""A task hit the limit of its memory cgroup and the kernel killed it.

## What you see
The task ends on SIGKILL in the middle of a line, while the host still has memory. In a
container or a Slurm job this is the usual way to run out of memory.

## Why it happens
The container, the Slurm step or the service has a memory limit, and the task and its children
together need more.

## How to confirm it by hand
`dmesg -T | grep -i 'memory cgroup out of memory'`; the counter `oom_kill` in `memory.events`
(cgroup v2) or `memory.oom_control` (v1).

## What to do
Raise the limit, or make the task smaller: batch size, shuffle buffers, embedding tables per
parameter server.

## When this accusation would be wrong
When another process in the same cgroup was killed and this task got its SIGKILL from somebody
else. If the kernel's log is readable, only the process it names is accused.
"""

from collections.abc import Iterator

from holdfast.model.evidence import Evidence, death_signal
from holdfast.model.facts import CgroupKilledForMemory, Fact, KernelKilledForMemory, TaskExited
from holdfast.model.findings import Cause, Confidence, Proof
from holdfast.model.pattern import Pattern
from holdfast.model.remedies import Relaunch
from holdfast.model.wording import Words

KILLED_CODE = 137
SIGKILL = 9
MIB = 1 << 20


def detect(evidence: Evidence) -> Iterator[Proof]:
    recorded = [kill for kill in evidence.of(KernelKilledForMemory) if kill.cgroup]
    for failure in evidence.failures():
        counter = next(evidence.of(CgroupKilledForMemory, failure.task), None)
        kill = next((kill for kill in recorded if _explains(evidence, kill, failure)), None)
        if kill is not None:
            yield _proof(failure, kill, counter, Confidence.CERTAIN)
        elif counter and death_signal(failure) == SIGKILL and not _named(counter, recorded):
            yield _proof(failure, None, counter, Confidence.HIGH)


def _explains(evidence: Evidence, kill: KernelKilledForMemory, failure: TaskExited) -> bool:
    """A child's death explains an exit code, but not a signal that the task itself got."""
    if kill.task != failure.task:
        return False
    return failure.signal is None or kill.pid in evidence.pids_of(failure.task)


def _named(counter: CgroupKilledForMemory, recorded: list[KernelKilledForMemory]) -> bool:
    """Whether the kernel's log tells who it was that the counter counts."""
    return any(f"{counter.cgroup}/".startswith(f"{kill.cgroup}/") for kill in recorded)


def _proof(
    failure: TaskExited,
    kill: KernelKilledForMemory | None,
    counter: CgroupKilledForMemory | None,
    confidence: Confidence,
) -> Proof:
    facts: tuple[Fact, ...] = tuple(fact for fact in (kill, counter, failure) if fact)
    cgroup = kill.cgroup if kill else counter.cgroup if counter else ""
    limit = counter.limit_bytes if counter else None
    size = f" at {kill.rss_bytes / MIB:,.0f} MiB" if kill else ""
    bound = f" of {limit / MIB:,.0f} MiB" if limit else ""
    return Proof(
        facts=facts,
        culprit=failure.task,
        confidence=confidence,
        says=(
            f"{failure.task} hit the memory limit{bound} of its cgroup {cgroup},"
            f" and the kernel killed it{size}"
        ),
        do=(
            f"raise the memory limit of {failure.task} (cgroup {cgroup})",
            "or make it need less: batch size, shuffle buffers, variables per parameter server",
        ),
        exit_code=KILLED_CODE,
    )


cause = Cause(
    family="oom-host",
    detect=detect,
    words=(
        Words(
            Pattern(
                r"[Mm]emory cgroup out of memory: Kill(?:ed)? process (?P<culprit>\d+ \([^)]+\))"
            )
        ),
        Words(Pattern(r"oom-kill:constraint=CONSTRAINT_MEMCG\S*,task=(?P<culprit>[^,\s]+)")),
        Words(Pattern(r"Task in \S+ killed as a result of limit of (?P<culprit>\S+)")),
    ),
    do=(
        "see whose limit it was: dmesg -T | grep -i 'memory cgroup out of memory'",
        "raise the memory limit, or use smaller batches, buffers and variables",
    ),
    remedy=Relaunch(),  # a neighbour may have taken what it needed
    preview=False,
)

"""The host ran out of memory and the kernel killed a process of a task.

## What you see
The task ends on SIGKILL in the middle of a line. Only the kernel's log says why:
`Out of memory: Killed process …`.

## Why it happens
All that runs on the host together needs more memory than it has; the kernel picks the largest
process. That may be another one than the one that grew.

## How to confirm it by hand
`dmesg -T | grep -A1 'oom-kill'` shows the process, its size and `constraint=CONSTRAINT_NONE`.

## What to do
Fewer tasks on the host, smaller batches or shuffle buffers, or a larger host.

## When this accusation would be wrong
Never on SIGKILL alone: it rests on the kernel's own record of this process.
"""

from collections.abc import Iterator

from holdfast.model.evidence import Evidence
from holdfast.model.facts import KernelKilledForMemory
from holdfast.model.findings import Cause, Proof
from holdfast.model.remedies import AskHuman

KILLED_CODE = 137
GIB = 1 << 30


def detect(evidence: Evidence) -> Iterator[Proof]:
    for kill in evidence.of(KernelKilledForMemory):
        failure = evidence.failure_of(kill.task) if kill.task else None
        if kill.cgroup or failure is None:
            continue
        yield Proof(
            facts=(kill, failure),
            culprit=kill.task,
            says=(
                f"the host {kill.host} ran out of memory, and the kernel killed {kill.task}"
                f" ({kill.process}, {kill.rss_bytes / GIB:.1f} GiB)"
            ),
            do=(
                "see what else uses memory there: ps -eo rss,pid,user,comm --sort=-rss | head",
                "run fewer tasks on this host, or use smaller batches and buffers",
            ),
            exit_code=KILLED_CODE,
        )


cause = Cause(family="oom-host", detect=detect, remedy=AskHuman(), preview=False)

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
from holdfast.model.pattern import Pattern
from holdfast.model.remedies import Relaunch
from holdfast.model.wording import Weight, Words

KILLED_CODE = 137
GIB = 1 << 30
# The memory of a GPU, or a limit of its own, is told elsewhere; and advice is no record.
ELSEWHERE = Pattern(r"StepId=|step \d|(?i:common causes|may be|might|could|possibl)")

OF_A_HOST = Pattern(r"[\w.-]+ kernel: ")


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


cause = Cause(
    family="oom-host",
    detect=detect,
    words=(
        # In a log that many hosts share, the host stands before the kernel's own words.
        Words(
            Pattern(
                r"(?P<host>[\w.-]+) kernel: [^\n]*"
                r"(?:Out of memory: Kill(?:ed)? process \d|oom-kill:constraint=CONSTRAINT_NONE)"
            )
        ),
        Words(
            Pattern(r"Out of memory: Kill(?:ed)? process (?P<culprit>\d+ \([^)]+\))"),
            unless=OF_A_HOST,
        ),
        Words(
            Pattern(r"oom-kill:constraint=CONSTRAINT_NONE\S*,task=(?P<culprit>[^,\s]+)"),
            unless=OF_A_HOST,
        ),
        Words(Pattern(r"invoked oom-killer: "), Weight.SYMPTOM),
        Words(
            Pattern(
                r"(?i:(?:was|been|got|being) (?:OOM[- ]?killed|killed by (?:the )?(?:linux )?OOM))"
                r"|tried to allocate more memory than is available"
                r"|crashed after using all available RAM"
            ),
            unless=ELSEWHERE,
        ),
        Words(
            Pattern(r"excessive memory usage causing the Operating System to kill"),
            Weight.SIGN,
            unless=Pattern(r"SIGSEGV|SIGABRT"),
        ),
        Words(
            Pattern(
                r"killed due to (?:the node running low on memory|memory pressure \(OOM\))"
                r"|systemd-oomd\S* (?:[Kk]illed|killed)|Killed \S+ due to memory (?:pressure|used)"
                r"|Worker exceeded 95% memory budget"
                r"|earlyoom\S* .*sending SIG(?:TERM|KILL) to process"
            )
        ),
    ),
    do=(
        "see what else uses memory there: ps -eo rss,pid,user,comm --sort=-rss | head",
        "run fewer tasks on this host, or use smaller batches and buffers",
    ),
    remedy=Relaunch(),  # a neighbour may have taken what it needed
    preview=False,
)

"""For a minute and more, more than nine tenths of the memory that tasks may use have been used.

## What you see
Nothing, or steps that become slower while the kernel looks for memory. The next batch that is
larger, the next evaluation or save may be what gets a task killed.

## Why it happens
A limit that just fits what the job needs on a quiet day, too many tasks on one host, or something
that has grown and stopped short of the limit.

## How to confirm it by hand
`grep -e anon -e file memory.stat` in its cgroup, beside `memory.max` or `memory.limit_in_bytes`;
for a host `free -m`, whose column `available` is what counts.

## What to do
Raise the limit, or let the job need less: smaller batches and shuffle buffers, fewer tasks on
this host.

## When this accusation would be wrong
A job that never needs more than it has now goes on like this for weeks: that is why it is a
warning, and why nobody is accused where several tasks share the memory. Cached files are not
counted, since the kernel drops them before it kills anybody, and a peak that is over within a
minute is not told. It counts bytes: a task that is starved uses no more of them, and a watcher that
did not get to look begins its minute anew. What still grows towards its limit is `memory-pressure`.
"""

from collections.abc import Iterator

from holdfast.model.evidence import Evidence
from holdfast.model.findings import Cause, Confidence, Proof, Severity
from holdfast.model.memory_told import limit_words, still_told
from holdfast.model.remedies import AskHuman
from holdfast.model.watch_facts import MemoryNearlyFull
from holdfast.model.words import bytes_text, listed, seconds_text

LASTING_S = 45.0  # it is told every 20 s while it lasts


def detect(evidence: Evidence) -> Iterator[Proof]:
    for fact in still_told(evidence, MemoryNearlyFull, LASTING_S):
        yield _proof(fact)


def _proof(fact: MemoryNearlyFull) -> Proof:
    used, limit = bytes_text(fact.used_bytes), bytes_text(fact.limit_bytes)
    whose = limit_words(fact)
    biggest = listed(f"{task} ({bytes_text(size)})" for task, size in fact.by_task.items())
    most = f"; of the tasks, most by {biggest}" if biggest else ""
    amount = f"{used} of {limit}, {whose}"
    for_long = f"for {seconds_text(fact.lasting_s)}"
    says = f"{fact.task} has used {amount}, {for_long}"
    if not fact.task:
        says = f"tasks and others have used {amount}, {for_long}{most}"
    return Proof(
        facts=(fact,),
        culprit=fact.task,
        confidence=Confidence.HIGH,
        says=says,
        do=(
            f"raise {whose}, or make the job need less: batch size, shuffle buffers, caches",
            "see who uses it: ps -eo pid,rss,comm --sort -rss | head",
        ),
    )


cause = Cause(
    family="oom-host",
    detect=detect,
    live=True,
    remedy=AskHuman(),
    severity=Severity.WARNING,
    yields_to=frozenset({"memory-pressure", "cgroup-out-of-memory", "host-out-of-memory"}),
)

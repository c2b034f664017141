"""Memory that a task may use will be gone in a minute or two, at the pace at which it grows.

## What you see
Nothing yet. A little later the kernel kills a task, and the others say that it has crashed.

## Why it happens
A cache or a list that grows with every step, a shuffle buffer that is still filling, tensors
that are kept, a limit that is too small for what the job needs.

## How to confirm it by hand
`grep VmRSS /proc/PID/status` again and again; `memory.usage_in_bytes` or `memory.current` of its
cgroup next to the limit.

## What to do
Save a checkpoint now if you can. Raise the limit, or find what grows: `tracemalloc`, smaller
shuffle buffers and batches.

## When this accusation would be wrong
A buffer that is being filled grows fast, and stops by itself. That is why this is a warning, which
is taken back when the growth ends, and replaced when the kernel has killed somebody. It counts
bytes: a starved task grows more slowly, if at all.
"""

from collections.abc import Iterator

from holdfast.model.cluster import TaskId
from holdfast.model.evidence import Evidence
from holdfast.model.findings import Cause, Confidence, Proof, Severity
from holdfast.model.memory_told import limit_words, still_told
from holdfast.model.remedies import AskHuman
from holdfast.model.watch_facts import MemoryNearsLimit, TaskSampled
from holdfast.model.words import bytes_text, seconds_text

LASTING_S = 25.0  # it is told every 10 s while it grows


def detect(evidence: Evidence) -> Iterator[Proof]:
    for fact in still_told(evidence, MemoryNearsLimit, LASTING_S):
        yield _proof(evidence, fact)


def _proof(evidence: Evidence, fact: MemoryNearsLimit) -> Proof:
    growth = bytes_text(int(fact.growth_bytes_per_s))
    used, limit = bytes_text(fact.used_bytes), bytes_text(fact.limit_bytes)
    whose = limit_words(fact)
    who = f"{fact.task} grows by {growth}" if fact.task else f"{growth} more are used"
    return Proof(
        facts=(fact,),
        culprit=fact.task,
        confidence=Confidence.HIGH,
        says=f"{who} every second: of {limit}, {whose}, {used} are used,"
        f" and the rest is gone in {seconds_text(fact.left_s)}",
        do=(
            "save a checkpoint now, if the program can",
            f"see what grows: {_command(evidence, fact.task)}",
            f"raise {whose}, or make the job need less: batch size, shuffle buffers, caches",
        ),
    )


def _command(evidence: Evidence, task: TaskId | None) -> str:
    pids = [fact.pid for fact in evidence.of(TaskSampled, task)] or sorted(evidence.pids_of(task))
    if task is None or not pids:
        return "ps -eo pid,rss,comm --sort -rss | head"
    return f"grep -E 'VmRSS|RssAnon' /proc/{pids[-1]}/status; py-spy dump --pid {pids[-1]}"


cause = Cause(
    family="oom-host",
    detect=detect,
    live=True,
    remedy=AskHuman(),
    severity=Severity.WARNING,
    yields_to=frozenset({"cgroup-out-of-memory", "host-out-of-memory"}),
)

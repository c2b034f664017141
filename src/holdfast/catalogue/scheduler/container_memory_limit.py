"""A container was ended because it used more memory than its limit.

## What you see
`OOMKilled` and exit code 137 in `kubectl describe pod`; YARN's `Container killed by YARN for
exceeding memory limits`. The log of the task ends in the middle of a line.

## Why it happens
The limit of the container counts everything in it: the program, its loader processes, memory
that files in `/dev/shm` take.

## How to confirm it by hand
`kubectl describe pod POD | grep -A3 'Last State'`; `docker inspect -f '{{.State.OOMKilled}}' NAME`.

## What to do
Raise `resources.limits.memory` (or `docker run --memory`, `spark.executor.memoryOverhead`), or use
smaller buffers and fewer loader processes.

## When this accusation would be wrong
When a side container, not the one that trains, was ended: `kubectl describe` names it.
"""

from holdfast.model.findings import Cause
from holdfast.model.pattern import Pattern
from holdfast.model.remedies import AskHuman
from holdfast.model.wording import Words

cause = Cause(
    family="oom-host",
    remedy=AskHuman(),
    where=(Pattern(r"^Node: +(?P<culprit>[\w.-]+)/"),),
    words=(
        Words(Pattern(r"running beyond (?:physical|virtual) memory limits")),
        Words(Pattern(r"\bOOMKilled\b"), unless=Pattern(r"OOMKilled\W+(?i:false)")),
        Words(
            Pattern(
                r"(?i:container) (?:\[?[\w=,]*?(?P<culprit>container_\w+)\]? )?is running"
                r" (?:\S+ )?beyond (?:the )?'?(?i:physical|virtual)"
            )
        ),
        Words(
            Pattern(
                r"(?:Lost executor \d+ on (?P<culprit>[\w.-]+): )?Container killed by YARN"
                r" for exceeding (?:physical |virtual )?memory limits"
            )
        ),
        Words(Pattern(r"The replica (?P<culprit>[\w ]+?) ran out[- ]of[- ]memory and exited")),
        Words(Pattern(r"Please use an instance type with more memory")),
        Words(Pattern(r"Memory limit of container exceeded|container exceeded its memory limit")),
    ),
    do=(
        "see which container: kubectl describe pod POD | grep -A3 'Last State'",
        "raise resources.limits.memory, or use smaller buffers and fewer loader processes",
    ),
)

"""Kubernetes evicted a pod because its host ran low on memory.

## What you see
`The node was low on resource: memory` in the events of the pod, and status `Evicted`. The task's
log ends in the middle of a line.

## Why it happens
All pods of the host together use more than they asked for; those that exceed their request the
most go first.

## How to confirm it by hand
`kubectl describe pod POD`; `kubectl describe node HOST | grep -A5 Conditions`.

## What to do
Set `resources.requests.memory` to what the task really needs, so that it is put on a host that has
it, or use less memory.

## When this accusation would be wrong
When the host was drained on purpose at the same time: then the reason reads otherwise.
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
        Words(Pattern(r"The node was low on resource: memory")),
        Words(Pattern(r"The node had condition: \[?MemoryPressure")),
    ),
    do=(
        "see what it used: kubectl describe pod POD | grep -A3 Message",
        "set resources.requests.memory to what the task needs",
    ),
)

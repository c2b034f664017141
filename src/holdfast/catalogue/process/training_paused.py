"""All tasks that train stood still at once for a while, and went on.

## What you see
One report of steps that took a minute, between others that took seconds: `step = 43 (61.927
sec)`, in the logs of all workers at the same moment. No error, and training goes on.

## Why it happens
What they all wait for stood still: a parameter server that was stopped, starved of cores or
swapped out, a file server, the network between them. TensorFlow waits for a parameter server
without a word, for as long as it takes.

## How to confirm it by hand
Look at what the host of the parameter servers did at that moment: `sar -q`, `dmesg -T`,
`journalctl --since`. A host that was suspended or migrated shows a jump of its clock.

## What to do
Find out who stopped or starved it. Run the next one under `holdfast run`: it names the task that
stands still while it does.

## When this accusation would be wrong
A checkpoint to a slow disk, or an evaluation that all wait for, looks the same. So it is only a
warning, and it blames a parameter server only where there is a single one.
"""

from holdfast.model.findings import Cause, Severity
from holdfast.model.remedies import AskHuman

cause = Cause(
    family="task-stalled",
    remedy=AskHuman(),
    severity=Severity.WARNING,
    do=(
        "look at what the hosts of the parameter servers did at that moment: dmesg -T, sar -q",
        "run the next one under `holdfast run`: it names who stands still while it does",
    ),
)

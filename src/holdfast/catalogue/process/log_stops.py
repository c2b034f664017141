"""The log of a task stops in the middle of training, while the others go on.

## What you see
Its last line is an ordinary step. No error, no word of an end; the logs of others go on for much
longer, often without a complaint: asynchronous workers do not miss each other.

## Why it happens
It was killed without a chance to say so (kill -9, the kernel for memory, a host that went down),
or it hangs, or its output went elsewhere from then on.

## How to confirm it by hand
`ps` on its host: is it still there? `dmesg -T | grep -i kill`, `sacct -j JOB -o State,ExitCode`.

## What to do
Find out how it ended, then start it again from the last checkpoint.

## When this accusation would be wrong
When its log was copied earlier than the others, or is written with a delay: then it only looks
shorter. So the finding says `likely`, and only where no log has anything better to say.
"""

from holdfast.model.findings import Cause
from holdfast.model.remedies import Relaunch

cause = Cause(
    family="peer-restarted",
    remedy=Relaunch(),
    do=(
        "see how it ended: dmesg -T | grep -i kill on its host, sacct -j JOB -o State,ExitCode",
        "start it again from the last checkpoint",
    ),
)

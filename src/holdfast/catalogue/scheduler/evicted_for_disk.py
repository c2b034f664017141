"""Kubernetes evicted a pod because it, or its host, ran out of local disk.

## What you see
`The node was low on resource: ephemeral-storage` or `Pod ephemeral local storage usage exceeds the
total limit of containers`, and status `Evicted`.

## Why it happens
Checkpoints, caches, logs or an `emptyDir` volume grew on the host's own disk.

## How to confirm it by hand
`kubectl describe pod POD`; in a pod that still runs: `du -xsh / /tmp /root/.cache`.

## What to do
Write checkpoints and caches to a volume of their own, or raise
`resources.limits.ephemeral-storage`.

## When this accusation would be wrong
When another pod filled the disk, and this one only was in the way.
"""

from holdfast.model.findings import Cause
from holdfast.model.pattern import Pattern
from holdfast.model.remedies import AskHuman
from holdfast.model.wording import Words

cause = Cause(
    family="disk-full",
    remedy=AskHuman(),
    where=(Pattern(r"^Node: +(?P<culprit>[\w.-]+)/"),),
    words=(
        Words(
            Pattern(r"The node was low on resource: (?:ephemeral-storage|inodes|nodefs|imagefs)")
        ),
        Words(Pattern(r"ephemeral local storage usage exceeds the total limit")),
        Words(Pattern(r"Usage of EmptyDir volume \S+ exceeds the limit")),
        Words(Pattern(r"The node had condition: \[?DiskPressure")),
    ),
    do=(
        "see what it used: kubectl describe pod POD | grep -A3 Message",
        "write checkpoints and caches to a volume, or raise resources.limits.ephemeral-storage",
    ),
)

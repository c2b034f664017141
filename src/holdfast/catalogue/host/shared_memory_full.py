"""The shared memory of a host or container, /dev/shm, is full.

## What you see
`DataLoader worker (pid 71) is killed by signal: Bus error. It is possible that dataloader's workers
are out of shared memory`, NCCL's `Error while creating shared memory segment`, or
`No space left on device` about a file in `/dev/shm`.

## Why it happens
Containers get 64 MiB of `/dev/shm` unless told otherwise; loader processes and NCCL pass their
tensors through it. Files of runs that were killed stay there.

## How to confirm it by hand
`df -h /dev/shm; ls -l /dev/shm`, inside the container.

## What to do
`docker run --shm-size=16g` or `--ipc=host`; in Kubernetes an `emptyDir` with `medium: Memory`
mounted at `/dev/shm`; remove what killed runs left there; fewer loader processes.

## When this accusation would be wrong
A bus error may also come from a file that was cut short while it was mapped.
"""

from holdfast.model.findings import Cause
from holdfast.model.pattern import Pattern
from holdfast.model.remedies import AskHuman
from holdfast.model.wording import Words

TOO_MANY = Pattern(r"Too many open files")

cause = Cause(
    family="oom-host",
    remedy=AskHuman(),
    yields_to=frozenset({"too-many-open-files"}),
    words=(
        Words(Pattern(r"killed by signal: Bus error|insufficient shared memory \(shm\)")),
        Words(
            Pattern(
                r"unable to (?:write to file|open shared memory object|allocate shared memory|mmap)"
                r"\W.*(?:</\w+|\(shm\))"
            ),
            unless=TOO_MANY,
        ),
        Words(
            Pattern(
                r"(?:/dev/shm\S*|shared memory)[^\n]*No space left on device"
                r"|No space left on device[^\n]*/dev/shm|posix_fallocate failed : No space left"
            )
        ),
        Words(Pattern(r"Error while creating shared memory segment"), unless=TOO_MANY),
    ),
    do=(
        "see how full it is: df -h /dev/shm; ls -l /dev/shm",
        "give the container more: docker run --shm-size=16g, or --ipc=host",
    ),
)

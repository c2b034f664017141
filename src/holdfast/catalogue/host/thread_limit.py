"""A host or container lets nobody start another thread or process.

## What you see
`can't start new thread`, `pthread_create failed ... Resource temporarily unavailable`,
`Thread creation via pthread_create() failed`, `fork: retry: Resource temporarily unavailable`.

## Why it happens
The limit of the user (`ulimit -u`) or of the container (`pids.max`) is reached: every task of
TensorFlow starts threads for each core, and so does each library (OpenBLAS, OpenMP) in each
loader process.

## How to confirm it by hand
`ulimit -u; ps -eLf | wc -l; cat /sys/fs/cgroup/pids.max /sys/fs/cgroup/pids.current`.

## What to do
Raise the limit (`ulimit -u 65536`, `docker run --pids-limit=-1`), or start fewer threads:
`OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1`, fewer loader processes.

## When this accusation would be wrong
When the kernel had no memory for another stack: `free -g` then shows it.
"""

from holdfast.model.findings import Cause
from holdfast.model.pattern import Pattern
from holdfast.model.remedies import AskHuman
from holdfast.model.wording import Weight, Words

cause = Cause(
    family="ps-overload-resource",
    remedy=AskHuman(),
    where=(Pattern(r"(?P<culprit>RLIMIT_NPROC \d+)"),),
    words=(
        Words(Pattern(r"pthread_create\(?\)?:? (?:has )?failed|pthread_create: Resource temp")),
        Words(Pattern(r"can't start new thread|unable to create (?:new )?native thread")),
        Words(
            Pattern(
                r"Thread creation failed: Resource|unable to allocate necessary resources for OMP"
            )
        ),
        Words(Pattern(r"what\(\): +Resource temporarily unavailable")),
        Words(
            Pattern(r"instance of 'std::(?:__\w+::)?system_error'"),
            Weight.SIGN,
            unless=Pattern(r"Operation not permitted|No such file"),
        ),
        Words(Pattern(r"OMP: (?:Error #(?:34|179)|System error #11)\b")),
        Words(Pattern(r"Check failed: ret == 0 \(11 vs\. 0\)")),
        Words(
            Pattern(r"fork: (?:retry: )?(?:Resource temporarily unavailable|No child processes)")
        ),
        Words(Pattern(r"(?:fork|clone|system_error|spawn)\w*\W.*Resource temporarily unavailable")),
        Words(Pattern(r"uv_thread_create|failed to create new OS thread"), Weight.SIGN),
        Words(
            Pattern(r"(?:BlockingIO|OS)Error: \[Errno 11\] Resource temporarily unavailable"),
            Weight.SIGN,
        ),
        Words(Pattern(r"cgroup: fork rejected by pids controller in (?P<culprit>\S+)")),
    ),
    do=(
        "see the limits: ulimit -u; ps -eLf | wc -l; cat /sys/fs/cgroup/pids.max",
        "raise them: ulimit -u 65536, or docker run --pids-limit=-1",
        "or start fewer threads: export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1",
    ),
)

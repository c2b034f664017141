"""One process of many was killed with SIGKILL, while its launcher lived on.

## What you see
`mpirun noticed that process rank 7 ... exited on signal 9 (Killed)`, or torchrun's
`exitcode: -9` and `Signal 9 (SIGKILL) received by PID`; in a shell nothing but `Killed`, often
behind a bar of progress. The process itself says nothing, and its peers report a lost connection.

## Why it happens
Most often the host ran out of memory, and the kernel killed the largest process. An operator or a
scheduler who wants to end a job ends its launcher, or all of it.

## How to confirm it by hand
On its host: `dmesg -T | grep -i -e 'killed process' -e oom`; under Slurm
`sacct -j JOB -o JobID,State,MaxRSS,ReqMem`.

## What to do
Give the job more memory, or let it take less: fewer processes on one host, fewer loader processes,
smaller shuffle buffers and caches.

## When this accusation would be wrong
When somebody killed this one process by hand: logs alone cannot tell, so it is only `likely`.
"""

from holdfast.model.findings import Cause
from holdfast.model.pattern import Pattern
from holdfast.model.remedies import AskHuman
from holdfast.model.wording import Weight, Words

SAYS = (
    "{who} was killed (SIGKILL) while its launcher lived on: most often by the kernel, because the"
    " host ran out of memory"
)

cause = Cause(
    family="oom-host",
    remedy=AskHuman(),
    words=(
        Words(
            Pattern(r"process (?P<culprit>rank \d+) with PID \d+ on node \S+ exited on signal 9\b"),
            Weight.SIGN,
            says=SAYS,
        ),
        Words(Pattern(r"exitcode: -9\) (?P<culprit>local_rank: \d+)"), Weight.SIGN, says=SAYS),
        Words(
            Pattern(r"Signal 9 \(SIGKILL\) received by PID|died with <Signals\.SIGKILL: 9>"),
            Weight.SIGN,
            says=SAYS,
        ),
        # A shell of the program that it ran; it may stand behind a bar of progress.
        Words(Pattern(r"(?:^|>: ?|\| ?|[\d.%\]] ?)Killed\s*$"), Weight.SIGN, says=SAYS),
        # Hydra, the launcher of MPICH and Intel MPI.
        Words(Pattern(r"^= +(?:EXIT CODE: 9$|KILLED BY SIGNAL: 9 )"), Weight.SIGN, says=SAYS),
        # YARN, of an executor of Spark.
        Words(Pattern(r"Container killed on request\. Exit code is 137"), Weight.SIGN, says=SAYS),
        Words(
            Pattern(r"DataLoader worker \(pid\W{1,3}\d+\) is killed by signal: Killed"),
            Weight.SIGN,
            says=SAYS,
        ),
    ),
    do=(
        "on its host: dmesg -T | grep -i -e 'killed process' -e oom",
        "under Slurm: sacct -j JOB -o JobID,State,MaxRSS,ReqMem",
        "give it more memory, or run fewer processes on one host and fewer loader processes",
    ),
    yields_to=frozenset(
        {
            "allocation-failed",
            "batch-memory-limit",
            "cancelled",
            "container-memory-limit",
            "evicted-for-disk",
            "evicted-for-memory",
            "gpu-out-of-memory",
            "host-out-of-memory",
            "preempted-by-scheduler",
            "shared-memory-full",
            "time-limit",
        }
    ),
)

"""A scheduler ended a job because its time was over.

## What you see
Slurm: `CANCELLED AT ... DUE TO TIME LIMIT`. PBS: `job killed: walltime ... exceeded limit`. LSF:
`TERM_RUNLIMIT`. Kubernetes: `Job was active longer than specified deadline`. The log ends in the
middle of a healthy step.

## Why it happens
The job asked for less time than it needs, waited long for something, or was slower than usual.

## How to confirm it by hand
`sacct -j JOB -o JobID,State,Timelimit,Elapsed`.

## What to do
Ask for more time, or save checkpoints often and start again from the last one: `sbatch --requeue`
with `--signal=B:TERM@120`.

## When this accusation would be wrong
The limit is what ended it, but a job that hung until then has another cause: look at when its
steps stopped.
"""

from holdfast.model.findings import Cause
from holdfast.model.pattern import Pattern
from holdfast.model.remedies import AskHuman
from holdfast.model.wording import Weight, Words

cause = Cause(
    family="preempted",
    remedy=AskHuman(),
    words=(
        Words(
            Pattern(
                r"DUE TO TIME LIMIT|(?i:exceed(?:ed|s|ing)(?: its| the)?(?: requested"
                r"| maximum)? (?:wall ?time"
                r"|time limit|run ?time limit))|(?i:job ?state\W+TIMEOUT\b)"
            ),
            Weight.SIGN,
        ),
        Words(
            Pattern(
                r"(?P<culprit>(?:JOB|STEP) [\w.+\[\]%-]+(?: ON [\w.\[\],-]+)?) CANCELLED AT \S+"
                r" DUE TO TIME LIMIT"
            )
        ),
        Words(Pattern(r"PBS: job killed: (?:walltime|cput|ncpus) \S+ exceeded limit")),
        Words(Pattern(r"TERM_RUNLIMIT: job killed|TERM_CPULIMIT: job killed")),
        Words(
            Pattern(r"(?i:job was active longer than specified deadline)|reason: DeadlineExceeded")
        ),
        Words(Pattern(r"submitit WARNING .*: this job is timed-out")),
        Words(Pattern(r"\bState\W+TIMEOUT\b|exceeded (?:hard|soft) wallclock time")),
        Words(Pattern(r"Job has timed out\. Ran \d+ minutes out of requested")),
    ),
    do=(
        "ask for more time: sbatch --time=24:00:00, or what the queue allows",
        "save checkpoints often, and start again from the last one: sbatch --requeue",
    ),
)

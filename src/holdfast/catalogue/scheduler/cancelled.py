"""Somebody cancelled the job: scancel, bkill, Ctrl-C.

## What you see
Slurm: `*** JOB 4711 ON host-a CANCELLED AT ... ***` without a reason. In a terminal `^C` and
`KeyboardInterrupt`. The log ends in the middle of a healthy step.

## Why it happens
A person or a script ended it; often because it seemed to hang, so look at what came before.

## How to confirm it by hand
`sacct -j JOB -o JobID,State,End`: the state `CANCELLED by UID` names who did it.

## What to do
If it was meant, nothing. Else ask who it was, and start again from the last checkpoint.

## When this accusation would be wrong
When the job hung and was cancelled for that reason: what it hung in is then the cause. A cancelled
step, unlike a cancelled job, mostly follows the failure of one of its tasks.
"""

from holdfast.model.findings import Cause
from holdfast.model.pattern import Pattern
from holdfast.model.remedies import AskHuman
from holdfast.model.wording import Weight, Words

WITH_A_REASON = Pattern(r"DUE TO ")

cause = Cause(
    family="preempted",
    remedy=AskHuman(),
    # The prompt of the shell in which somebody pressed the keys.
    where=(
        Pattern(
            r"^\S{0,40} ?\[?\w[\w.-]*@(?P<culprit>[\w.-]+)[: ][^\n$#]*\]?[$#]"
            r" (?:python|mpirun|horovodrun|torchrun|deepspeed|bash |srun )"
        ),
    ),
    words=(
        Words(
            Pattern(
                r"srun: Force Terminated job|(?i:job\b[^\n]{0,30} (?:terminated|cancell?ed"
                r"|deleted|killed) by"
                r" (?:the )?(?:user|owner|admin\w*|operator))"
            ),
            Weight.SIGN,
        ),
        Words(
            Pattern(r"(?P<culprit>JOB [\w.+\[\]%-]+(?: ON [\w.\[\],-]+)?) CANCELLED AT "),
            unless=WITH_A_REASON,
        ),
        Words(
            Pattern(r"(?P<culprit>STEP [\w.+\[\]%-]+(?: ON [\w.\[\],-]+)?) CANCELLED AT "),
            Weight.SYMPTOM,
            unless=WITH_A_REASON,
        ),
        Words(Pattern(r"\bCANCELLED by \d+")),
        Words(Pattern(r"TERM_(?:OWNER|ADMIN|FORCE_OWNER|FORCE_ADMIN): job killed")),
        Words(Pattern(r"srun: sending Ctrl-C to |srun: interrupt \(one more within "), Weight.SIGN),
        Words(
            Pattern(r"(?:^|[:>|\]] ?)KeyboardInterrupt(?:: |\s*$)"),
            Weight.SIGN,
        ),
        Words(Pattern(r"(?i:keyboard interrupt (?:received|detected))"), Weight.SIGN),
        Words(Pattern(r"^\^C(?:\d{4}-\d\d-\d\d|Traceback|Process )"), Weight.SIGN),
        Words(
            Pattern(r"(?i:received|caught|got) (?:signal )?(?:SIGINT|2 \(SIGINT\))\b"), Weight.SIGN
        ),
    ),
    yields_to=frozenset({"batch-memory-limit"}),  # Slurm ends the job whose step it killed
    do=(
        "see who cancelled it: sacct -j JOB -o JobID,State,End",
        "if it was cancelled because it hung, look at the last steps before that",
    ),
)

"""A scheduler or cloud took the host away for somebody else.

## What you see
Slurm: `CANCELLED AT ... DUE TO PREEMPTION` or `DUE TO JOB REQUEUE`. Kubernetes: reason `Preempted`.
Clouds: a notice that the spot instance ends soon. TensorFlow's own
`Member ... has received termination notice`.

## Why it happens
The job runs with low priority or on hosts that are lent, and somebody with a higher one needs
them.

## How to confirm it by hand
`sacct -j JOB -o JobID,State,Restarts,End`; `kubectl get events | grep -i preempt`.

## What to do
Save checkpoints often, let the scheduler requeue the job (`sbatch --requeue`), and start again from
the last checkpoint.

## When this accusation would be wrong
When an operator sent the same signal by hand: programs cannot tell the difference.
"""

from holdfast.model.findings import Cause
from holdfast.model.pattern import Pattern
from holdfast.model.remedies import Relaunch
from holdfast.model.wording import Weight, Words

# Advice about what can have happened is no record of it.
MAY_BE = Pattern(
    r"(?i)\b(?:may|might|could|can|likely|if|either|possibl[ey]|usually|often|probably)\b"
    r"|aborted by"
)

cause = Cause(
    family="preempted",
    remedy=Relaunch(),
    words=(
        Words(Pattern(r"DUE TO JOB REQUEUE|[Jj]ob \S+ (?:was )?preempted by"), Weight.SIGN),
        Words(
            Pattern(
                r"(?P<culprit>(?:JOB|STEP) [\w.+\[\]%-]+(?: ON [\w.\[\],-]+)?) CANCELLED AT \S+"
                r" DUE TO (?:PREEMPTION|JOB REQUEUE)"
            )
        ),
        Words(Pattern(r"Caught signal \S+ on (?P<culprit>[\w.-]+): this job is preempted")),
        Words(
            Pattern(
                r"Preempted (?:by|in order to)|[Rr]eason\W+Preempt(?:ed|ing|ionByScheduler)\b"
                r"|TERM_PREEMPT\b|\bState\W+PREEMPTED\b"
            )
        ),
        Words(
            Pattern(
                r"(?i:spot[ -](?:instance |vm )?(?:interruption|termination|reclaim)\w*"
                r" (?:notice|warning|received|detected))"
                r"|(?i:instance (?:was|will be|is being) (?:preempted|reclaimed))"
            ),
            unless=MAY_BE,
        ),
        Words(
            Pattern(
                r"Member (?P<culprit>/job:\S+/task:\d+) has received (?:termination|preemption)"
            ),
        ),
        Words(
            Pattern(
                r"PreemptionCheckpointHandler: (?:Starting saving|checkpoint saved\. Exiting)"
                r"|Termination caught in main thread on preempted worker"
            ),
            Weight.SIGN,
        ),
        # A TPU that may be taken away: TensorFlow is told by its worker, shortly before.
        Words(
            Pattern(r"ShutdownHook: lame workers found: \S*?(?P<culprit>/job:\w+/\S*task:\d+)"),
        ),
        Words(
            Pattern(
                r"(?i:\b(?:TPU|node|host|VM)\b[^\n]{0,80}\b(?:was|were|has been|been|is) preempted)"
                r"|(?i:in state:? \W?PREEMPTED)|Worker preempted\b|PREEMPTED: "
                r"|(?i:\b(?:job|pod|instance)\b[^\n]{0,60}\b(?:was|has been|been) preempted\b)"
            ),
            Weight.SIGN,
            unless=MAY_BE,
        ),
        Words(Pattern(r"Member \S* ?has received termination notice"), unless=Pattern(r"/job:")),
        Words(
            Pattern(r"preemption_notifier\.cc:\d+\] .*SIGTERM caught|SIGTERM caught at "),
            Weight.SIGN,
        ),
    ),
    do=(
        "start again from the last checkpoint; let the scheduler do it: sbatch --requeue",
        "save checkpoints more often than hosts are taken away",
    ),
)

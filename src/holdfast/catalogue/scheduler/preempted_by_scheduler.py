"""A scheduler or cloud took the host away for somebody else.

## What you see
Slurm: `CANCELLED AT ... DUE TO PREEMPTION` or `DUE TO JOB REQUEUE`. Kubernetes: reason `Preempted`.
Clouds: a notice that the spot instance ends soon. TensorFlow's own
`Member ... has received termination notice`. Or no word at all: a program with a
PreemptionCheckpointHandler saves, and all its workers leave with code 42.

## Why it happens
The job runs with low priority or on hosts that are lent, and somebody with a higher one needs
them.

## How to confirm it by hand
`sacct -j JOB -o JobID,State,Restarts,End`; `kubectl get events | grep -i preempt`.

## What to do
Save checkpoints often, let the scheduler requeue the job (`sbatch --requeue`), and start again from
the last checkpoint. `holdfast run --on-failure recover` starts it again here.

## When this accusation would be wrong
When an operator sent the same signal by hand: programs cannot tell the difference. While a job
runs, this is told only of a task that left without a traceback, with a code that means this (42,
75, 143), of a program that says so: by its text, or in its log.
"""

from collections.abc import Iterator

from holdfast.model.cluster import TaskId
from holdfast.model.evidence import Evidence
from holdfast.model.facts import LogLine, TaskExited
from holdfast.model.findings import TRY_AGAIN_CODE, Cause, Confidence, Proof
from holdfast.model.pattern import Pattern
from holdfast.model.recovery_facts import ProgramRead
from holdfast.model.remedies import Relaunch
from holdfast.model.wording import Weight, Words
from holdfast.model.words import listed

# Advice about what can have happened is no record of it.
MAY_BE = Pattern(
    r"(?i)\b(?:may|might|could|can|likely|if|either|possibl[ey]|usually|often|probably)\b"
    r"|aborted by"
)
# TensorFlow's own code for it; "try again later"; as a shell reports SIGTERM.
LEAVING_CODES = frozenset({42, TRY_AGAIN_CODE, 143})
SAVES_AND_LEAVES = "PreemptionCheckpointHandler"
AT_WORK = Pattern(r"PreemptionCheckpointHandler\b")
NOTICE = Pattern(
    r"has received (?:termination|preemption) notice"
    r"|\b(?i:received|caught|got) (?:signal )?(?:SIGTERM|15 \(SIGTERM\))"
    r"|\bSIGTERM (?i:received|caught)"
)
LEFT_IN_VAIN = Pattern(r"But some other worker has received it as well")


def detect(evidence: Evidence) -> Iterator[Proof]:
    """Who left by itself with a telling code, of a program that obeys preemption."""
    left = [one for one in evidence.failures() if _left(evidence, one)]
    left.sort(key=lambda one: one.at_s)
    if not left or not _is_first(evidence, left[0]):
        return
    told = _notice(evidence, left)
    obeys = told is not None or _obeys(evidence)
    if not obeys:
        return
    asked = told.task if told else left[0].task if len(left) == 1 else None
    yield _proof(left, told, asked)
    for one in left:
        if one.task != asked:
            yield _echo(one, asked)


def _left(evidence: Evidence, failure: TaskExited) -> bool:
    return failure.exit_code in LEAVING_CODES and evidence.last_traceback(failure.task) is None


def _is_first(evidence: Evidence, left: TaskExited) -> bool:
    """Whether nobody had failed before: who leaves after another's failure was not preempted."""
    return all(one.at_s >= left.at_s for one in evidence.failures())


def _notice(evidence: Evidence, left: list[TaskExited]) -> LogLine | None:
    """The word of one of those who left that it was told to go."""
    tasks = {one.task for one in left}
    said = (
        line
        for line in evidence.lines(NOTICE)
        if line.task in tasks
        and not MAY_BE.search(line.text)
        and not LEFT_IN_VAIN.search(line.text)
    )
    return min(said, key=lambda line: line.at_s, default=None)


def _obeys(evidence: Evidence) -> bool:
    """Whether the program has TensorFlow's own way to save and leave, by its text or its log."""
    read = any(SAVES_AND_LEAVES in program.mentions for program in evidence.of(ProgramRead))
    return read or any(evidence.lines(AT_WORK))


def _proof(left: list[TaskExited], told: LogLine | None, asked: TaskId | None) -> Proof:
    who = f"{asked} was" if asked else f"one of {listed(one.task for one in left)} was"
    code = left[0].exit_code
    how = f"{listed(one.task for one in left)} left with exit code {code} and without an error"
    return Proof(
        facts=(*((told,) if told else ()), *left),
        culprit=asked,
        confidence=Confidence.CERTAIN if told else Confidence.HIGH,
        says=f"{who} told to go, and not by Holdfast: {how}",
        do=(
            "start again from the last checkpoint: holdfast run --on-failure recover does that",
            "find out who took the host: sacct -j JOB, kubectl get events, the cloud's own log",
        ),
        exit_code=TRY_AGAIN_CODE,
    )


def _echo(left: TaskExited, asked: TaskId | None) -> Proof:
    whom = asked or "the one that was told to go"
    return Proof(
        facts=(left,),
        culprit=asked,
        seen_at=left.task,
        says=f"{left.task} saved and left with {whom}",
        symptom=True,
    )


cause = Cause(
    family="preempted",
    detect=detect,
    hears=(AT_WORK, NOTICE),
    remedy=Relaunch(),
    preview=False,
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

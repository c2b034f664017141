"""A task was restarted behind the others' back: it answers with a new incarnation.

## What you see
`… unexpectedly tried to connect with a different incarnation. It has likely restarted`,
`Your worker job … was probably restarted`, `Leader incarnation ID mismatch`, or steps that fail
with `Aborted` or `Unavailable` once, for no visible reason.

## Why it happens
A container runtime, a scheduler or a script starts a dead task again by itself. Its address is
the same, but the new process knows nothing of the variables and collectives of the old one.

## How to confirm it by hand
Ask it twice: `holdfast attach --watch HOST:PORT` shows the incarnation; a new number is a new
process. `ps -o lstart= -p PID` on its host says since when it runs.

## What to do
MultiWorkerMirroredStrategy: relaunch the whole job, a single worker cannot come back.
ParameterServerStrategy: a worker may; after a lost ps relaunch from a checkpoint. Find out why
the first one died: its last lines are in the log before the restart.

## When this accusation would be wrong
Two processes with the same task index look alike: the leader calls the second one a restart. Where
the definitions show that, the finding is about them. It rests on a new incarnation or process, not
on time: a starved task keeps its own.
"""

from collections.abc import Iterator

from holdfast.model.cluster import TaskId, chief_of
from holdfast.model.evidence import Evidence
from holdfast.model.facts import LogLine, PathProbed, ProcessSeen
from holdfast.model.findings import Cause, Confidence, Proof, Severity
from holdfast.model.named_tasks import tasks_in
from holdfast.model.pattern import Pattern
from holdfast.model.remedies import Relaunch
from holdfast.model.standing import is_ready
from holdfast.model.watch_facts import StepsSeen
from holdfast.model.wording import Weight, Words

NEW_INCARNATION = Pattern(
    r"tried to connect with a different incarnation"
    r"|was probably restarted\. Check your worker job"
    r"|Leader incarnation ID mismatch"
)
NEAR_S = 45.0  # a new process takes long to load TensorFlow; others fail at once
JOINED = Pattern(r"(/job:\S+) has connected to coordination service\. Incarnation: (\d+)")


def detect(evidence: Evidence) -> Iterator[Proof]:
    yield from _answers(evidence)
    yield from _joined(evidence)
    yield from _replaced(evidence)
    yield from _told(evidence)


def _answers(evidence: Evidence) -> Iterator[Proof]:
    """Who answered with one incarnation, and then with another."""
    answers: dict[TaskId | None, PathProbed] = {}
    for look in evidence.of(PathProbed):
        if not is_ready(look):
            continue
        before = answers.setdefault(look.target, look)
        if before.incarnation != look.incarnation:
            answers[look.target] = look
            yield Proof(
                facts=(before, look),
                culprit=look.target,
                severity=Severity.WARNING,
                says=f"{look.target} was restarted: at {look.address} answers a new process"
                f" (incarnation {look.incarnation}, before {before.incarnation})",
                do=DO,
            )


def _joined(evidence: Evidence) -> Iterator[Proof]:
    """Who joined the leader's cluster twice, as two processes."""
    before: dict[TaskId, tuple[str, LogLine]] = {}
    for line in evidence.lines(JOINED):
        found = JOINED.search(line.text)
        for task in tasks_in(found.group(1)):
            incarnation = found.group(2)
            number, first = before.setdefault(task, (incarnation, line))
            if number != incarnation:
                before[task] = (incarnation, line)
                yield Proof(
                    facts=(first, line),
                    culprit=task,
                    seen_at=line.task if line.task != task else None,
                    confidence=Confidence.HIGH,
                    severity=None if any(evidence.failures()) else Severity.WARNING,
                    says=f"{task} was restarted: it joined as a new process"
                    f" (incarnation {incarnation}, before {number})",
                    do=DO,
                )


def _replaced(evidence: Evidence) -> Iterator[Proof]:
    """Whose program was started again by what is around it, when others mind.

    They fail over it, or a parameter server has lost their variables.
    """
    for seen in evidence.of(ProcessSeen):
        lost = [
            failure
            for failure in evidence.failures()
            if failure.task != seen.task and abs(failure.at_s - seen.at_s) <= NEAR_S
        ]
        if seen.replaces and (lost or (seen.task and seen.task.role == "ps")):
            over = f", and {lost[0].task} failed over it" if lost else ": its variables are lost"
            yield Proof(
                facts=(seen, *lost[:1]),
                culprit=seen.task,
                seen_at=lost[0].task if lost else None,
                confidence=Confidence.HIGH,
                severity=None if lost else Severity.WARNING,
                says=f"{seen.task} was restarted: pid {seen.pid} trains where pid {seen.replaces}"
                f" did before{over}",
                do=DO,
            )


def _told(evidence: Evidence) -> Iterator[Proof]:
    """Whom others call restarted; it is believed when somebody failed."""
    for line in evidence.lines(NEW_INCARNATION):
        named = [task for task in tasks_in(line.text) if task != line.task]
        if not named and "Leader" in line.text:
            named = [chief_of(evidence.tasks)]
        if named and any(evidence.failures()):
            # Before it trains, two tasks may have been given the same index.
            trained = any(steps.at_s < line.at_s for steps in evidence.of(StepsSeen))
            yield Proof(
                facts=(line,),
                culprit=named[0],
                seen_at=line.task,
                confidence=Confidence.HIGH if trained else Confidence.LIKELY,
                says=f"{named[0]} joined a second time, as another process:"
                " it was restarted, or two tasks have the same index",
                do=DO,
            )


DO = (
    "find out why the first process ended: its last lines are in its log",
    "relaunch the whole job from its last checkpoint",
)


WORDS = (
    Words(
        NEW_INCARNATION,
        blames_named=True,
        says="{who} was restarted behind the others' back: {line}",
    ),
    Words(
        Pattern(
            r"[Pp]ossibly,? this worker (?:\(\S+\) )?just restarted"
            r"|AbortedError: (?:Graph|Session|Step) (?:handle |\w+ )?is not found"
            r"|Perhaps the worker was restarted|Unable to find a context_id matching"
        ),
        Weight.SYMPTOM,
        says="{who} was restarted while others still used it: {line}",
    ),
)

cause = Cause(
    family="peer-restarted",
    detect=detect,
    hears=(NEW_INCARNATION, JOINED),
    remedy=Relaunch(),
    echo=True,
    words=WORDS,
    do=(
        "see why that task was restarted: its first log, the scheduler's record",
        "start all tasks again together, from the last checkpoint",
    ),
)

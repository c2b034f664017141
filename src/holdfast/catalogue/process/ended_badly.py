"""A task ended with an error code and no traceback.

## What you see
One task is gone with a code such as 1 or 3, and its log ends without a traceback or a signal. The
others complain of it, or wait. Beside parameter servers the other workers go on without it: that is
a warning.

## Why it happens
`sys.exit(1)` or `os._exit(1)` somewhere in the program or in a library; a shell script around it
whose own command failed; a program that writes its errors elsewhere.

## How to confirm it by hand
Read the task's last lines; search the program for `exit(`; run it with `python -X dev`, or the
script around it with `bash -x`.

## What to do
Let the program say why it leaves: raise an exception instead of calling `sys.exit`.

## When this accusation would be wrong
That it ended by itself and first is certain. Why is not known: a peer that it missed without
saying so may be behind it.
"""

from collections.abc import Iterator

from holdfast.model.cluster import TaskId
from holdfast.model.evidence import Evidence, death_signal
from holdfast.model.facts import LastWords, TaskExited
from holdfast.model.findings import Cause, Confidence, Proof, Severity
from holdfast.model.lost_peer import LOST
from holdfast.model.remedies import AskHuman
from holdfast.model.words import listed

LINE_LENGTH = 160


def detect(evidence: Evidence) -> Iterator[Proof]:
    failures = sorted(evidence.failures(), key=lambda failure: failure.at_s)
    harmless = [failure for failure in failures if not _is_needed(evidence, failure)]
    first_is_needed = failures[:1] != harmless[:1]
    for failure in failures[:1] if first_is_needed else harmless:
        others = [task for task in evidence.tasks if task != failure.task and task.trains]
        if others and _is_silent(evidence, failure):
            yield _proof(evidence, failure, needing=others if first_is_needed else [])


def _is_needed(evidence: Evidence, failure: TaskExited) -> bool:
    """Whether the other trainers cannot go on without it: beside servers, workers can."""
    with_servers = any(other.role == "ps" for other in evidence.tasks)
    role = failure.task.role if failure.task else ""
    return not with_servers or role in {"ps", "chief"}


def _is_silent(evidence: Evidence, failure: TaskExited) -> bool:
    """No signal, no traceback, and no word of a peer that it lost."""
    spoke = evidence.last_traceback(failure.task) or any(evidence.lines(LOST, failure.task))
    return death_signal(failure) is None and not spoke


def _proof(evidence: Evidence, failure: TaskExited, needing: list[TaskId]) -> Proof:
    words = list(evidence.of(LastWords, failure.task))
    harm = (
        f"{listed(needing)} cannot go on without it" if needing else "the others can do without it"
    )
    return Proof(
        facts=(failure, *words[-1:]),
        culprit=failure.task,
        confidence=Confidence.HIGH,
        says=f"{failure.task} ended with exit code {failure.exit_code} and without a traceback;"
        f" {harm}{_last_line(words)}",
        severity=None if needing else Severity.WARNING,
        do=(
            f"read its last lines, and search its program for exit({failure.exit_code})",
            "raise an exception there instead: its traceback tells what was wrong",
        ),
    )


def _last_line(words: list[LastWords]) -> str:
    """Programs that leave by themselves often say why, on standard error."""
    told = [fact for fact in words if fact.stream == "err" and fact.lines]
    return f"; its last line: {told[-1].lines[-1][:LINE_LENGTH]}" if told else ""


cause = Cause(
    family="python-exception-user-code", detect=detect, remedy=AskHuman(), last_resort=True
)

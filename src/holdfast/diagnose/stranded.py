"""Tasks that never complained, and still could not finish because another one failed."""

from collections.abc import Sequence
from dataclasses import replace

from holdfast.model.cluster import TaskId
from holdfast.model.evidence import Evidence
from holdfast.model.facts import SignalSent, StopAsked
from holdfast.model.findings import Echo, Finding


def with_stranded(findings: tuple[Finding, ...], evidence: Evidence) -> tuple[Finding, ...]:
    """The root cause, with those that had to be ended because of it among its echoes."""
    if not findings or any(evidence.of(StopAsked)) or evidence.chief_finished():
        return findings
    root = findings[0]
    failure = evidence.failure_of(root.proof.culprit)
    if failure is None:
        return findings
    concerned = _concerned(findings)
    stranded = tuple(
        Echo(
            task=task,
            cause="peer-gone",
            says=f"{task} was ended with the job, which could not go on without {failure.task}",
            since_s=sent.at_s,
            facts=(sent,),
        )
        for task in evidence.tasks
        if task.trains
        and task not in concerned
        and (sent := _ended_after(evidence, task, failure.at_s))
    )
    return (replace(root, echoes=(*root.echoes, *stranded)), *findings[1:])


def _concerned(findings: Sequence[Finding]) -> set[TaskId | None]:
    culprits = {finding.proof.culprit for finding in findings}
    return culprits | {echo.task for finding in findings for echo in finding.echoes}


def _ended_after(evidence: Evidence, task: TaskId, at_s: float) -> SignalSent | None:
    """The signal by which we ended a task after the failure; none for one that finished."""
    exited = evidence.exit_of(task)
    if exited is not None and exited.exit_code == 0:
        return None
    return next((sent for sent in evidence.of(SignalSent, task) if sent.at_s >= at_s), None)

"""Which tasks are well: nobody accuses them, they suffer from nobody, and none ended badly."""

from collections.abc import Sequence

from holdfast.model.cluster import TaskId
from holdfast.model.evidence import Evidence
from holdfast.model.facts import TaskNotStarted
from holdfast.model.findings import Finding, Severity


def healthy_tasks(evidence: Evidence, findings: Sequence[Finding]) -> tuple[TaskId, ...]:
    concerned = {finding.proof.culprit for finding in findings}
    concerned |= {finding.proof.seen_at for finding in findings}
    concerned |= {echo.task for finding in findings for echo in finding.echoes}
    # Where nobody alone is to blame, those whom the proof is about are not well either.
    concerned |= {
        fact.task
        for finding in findings
        if finding.proof.culprit is None and finding.severity is Severity.ERROR
        for fact in finding.proof.facts
    }
    concerned |= {failure.task for failure in evidence.failures()}
    concerned |= set(evidence.unseen_ends())
    concerned |= {fact.task for fact in evidence.of(TaskNotStarted)}
    return tuple(task for task in evidence.tasks if task not in concerned)

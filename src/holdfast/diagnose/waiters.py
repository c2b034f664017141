"""Tasks that complain of nothing and only wait: echoes of whoever they wait for."""

from collections.abc import Sequence
from dataclasses import replace

from holdfast.diagnose.waits import WaitsFor
from holdfast.model.cluster import TaskId
from holdfast.model.evidence import Evidence
from holdfast.model.findings import Echo, Finding
from holdfast.model.wait import Wait
from holdfast.model.waiting import waits_in


def with_waiters(
    findings: tuple[Finding, ...], waits: WaitsFor, evidence: Evidence
) -> tuple[Finding, ...]:
    """Each waiting task under the first finding whose culprit it waits for."""
    concerned = _concerned(findings)
    known = waits_in(evidence)
    told: list[Finding] = []
    for finding in findings:
        culprit = finding.proof.culprit
        waiting = [
            wait for wait in _one_each(known, waits, culprit) if wait.waiter not in concerned
        ]
        concerned |= {wait.waiter for wait in waiting}
        echoes = tuple(_echo(finding, wait) for wait in waiting)
        told.append(replace(finding, echoes=(*finding.echoes, *echoes)))
    return tuple(told)


def _concerned(findings: Sequence[Finding]) -> set[TaskId | None]:
    culprits = {finding.proof.culprit for finding in findings}
    return culprits | {echo.task for finding in findings for echo in finding.echoes}


def _one_each(known: Sequence[Wait], waits: WaitsFor, culprit: TaskId | None) -> list[Wait]:
    """For each task that waits for the culprit: its wait for it, or for somebody on the way."""
    direct = {wait.waiter: wait for wait in reversed(known) if wait.awaited == culprit}
    through = {wait.waiter: wait for wait in reversed(known) if waits.reaches(wait.waiter, culprit)}
    return [{**through, **direct}[waiter] for waiter in sorted(through)]


def _echo(finding: Finding, wait: Wait) -> Echo:
    return Echo(
        task=wait.waiter,
        cause=finding.name,
        says=f"{wait.waiter} waits for {wait.awaited}: {wait.why}",
        since_s=wait.fact.at_s,
        facts=(wait.fact,),
    )

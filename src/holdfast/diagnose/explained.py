"""Who stands where is the first answer; a cause that says why takes its place."""

from holdfast.diagnose.waits import WaitsFor
from holdfast.model.evidence import Evidence
from holdfast.model.findings import GRAVITY, Confidence, Finding, Severity

SURE = frozenset({Confidence.CERTAIN, Confidence.HIGH})


def without_explained(proven: list[Finding], waits: WaitsFor, evidence: Evidence) -> list[Finding]:
    """Without general findings of a task of which a special cause says as much, and why."""
    special = [finding for finding in proven if not finding.cause.general]
    return [
        finding
        for finding in proven
        if not finding.cause.general
        or not any(_explains(other, finding, waits, evidence) for other in special)
    ]


def _explains(other: Finding, finding: Finding, waits: WaitsFor, evidence: Evidence) -> bool:
    if other.proof.confidence not in SURE or other.is_echo or not other.is_of_standstill:
        return False
    culprit, blamed = finding.proof.culprit, other.proof.culprit
    if other.severity is Severity.ERROR and (
        waits.is_victim_of(culprit, blamed) or evidence.failure_of(blamed) is not None
    ):
        return True
    grave = GRAVITY.index(other.severity) >= GRAVITY.index(finding.severity)
    about = {blamed, other.proof.seen_at, *(fact.task for fact in other.proof.facts)}
    if culprit is not None:
        return grave and (culprit == blamed if blamed is not None else culprit in about)
    return grave and {fact.task for fact in finding.proof.facts} <= about

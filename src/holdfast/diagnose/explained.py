"""Who stands where is the first answer; a cause that says why takes its place."""

from holdfast.diagnose.waits import WaitsFor
from holdfast.model.evidence import Evidence
from holdfast.model.facts import TaskExited
from holdfast.model.findings import GRAVITY, Confidence, Finding, Severity
from holdfast.model.stance import Stance, stance_of
from holdfast.model.watch_facts import StacksSeen, TaskStill, TaskWaits

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
    failure = evidence.failure_of(blamed)
    if other.severity is Severity.ERROR and (
        waits.is_victim_of(culprit, blamed)
        or (failure is not None and not _stood_before(finding, failure))
    ):
        return True
    waiting = {fact.task for fact in finding.proof.facts}
    if culprit is None and other.severity is Severity.ERROR and blamed not in {None, *waiting}:
        return True  # they wait, and nobody was ahead: now it is known for whom
    grave = GRAVITY.index(other.severity) >= GRAVITY.index(finding.severity)
    about = {blamed, other.proof.seen_at, *(fact.task for fact in other.proof.facts)}
    if culprit is not None:
        return grave and (culprit == blamed if blamed is not None else culprit in about)
    return grave and waiting <= about


def _stood_before(finding: Finding, failure: TaskExited) -> bool:
    """Whether it stood still at its own code before another failed: not for want of that one."""
    facts = [fact for fact in finding.proof.facts if fact.task == finding.proof.culprit]
    looks = [fact for fact in facts if isinstance(fact, StacksSeen)]
    since_s = [
        fact.at_s - (fact.waits_s if isinstance(fact, TaskWaits) else fact.still_s)
        for fact in facts
        if isinstance(fact, TaskStill | TaskWaits)
    ]
    own = any(stance_of(look, None) is Stance.OWN for look in looks)
    return own and any(at_s < failure.at_s for at_s in since_s)

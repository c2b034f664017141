"""How an attempt ended, as the exit code that tells the rest of the world."""

import math
from dataclasses import dataclass
from signal import SIGTERM

from holdfast.diagnose.lost_workers import lost_workers, unexplained
from holdfast.model.evidence import Evidence, death_signal
from holdfast.model.facts import StartBlocked, StopAsked, TaskNotStarted
from holdfast.model.findings import HUNG_CODE, TRY_AGAIN_CODE, Diagnosis, Severity
from holdfast.model.recovery_facts import CheckpointSaved, RemedyDecided
from holdfast.model.words import listed
from holdfast.recover.history import ENDS_ATTEMPT

SIGNAL_EXIT_BASE = 128
UNSEEN_CODE = 69


@dataclass(frozen=True, slots=True)
class Conclusion:
    exit_code: int
    why: str


def conclude(evidence: Evidence, diagnosis: Diagnosis) -> Conclusion:
    """How the attempt ended, as an exit code: the root cause decides, not the loudest task."""
    asked = next(iter(evidence.of(StopAsked)), None)
    failures = sorted(evidence.failures(), key=lambda exited: exited.at_s)
    blocked = next(evidence.of(StartBlocked), None)
    if blocked is not None and not failures:
        first = next(iter(diagnosis.findings), None)
        why = f"the cluster was not up after {blocked.deadline_s:g} s"
        return Conclusion(HUNG_CODE, first.proof.says if first else why)
    unseen = evidence.unseen_ends()
    if unseen and not failures and asked is None:
        return Conclusion(UNSEEN_CODE, f"nobody saw how {listed(unseen)} ended")
    if not failures and not any(evidence.of(TaskNotStarted)):
        if asked is not None and not _trained_to_the_end(evidence, asked.at_s):
            return _stopped(evidence, asked)
        if not _ended_for_a_remedy(evidence) or _trained_to_the_end(evidence, math.inf):
            return Conclusion(0, "every chief and worker finished")
    for finding in diagnosis.findings:
        if finding.severity is Severity.ERROR:
            return Conclusion(finding.proof.exit_code, finding.proof.says)
    lost = lost_workers(evidence)
    if lost is not None and not unexplained(diagnosis.findings, evidence):
        return Conclusion(0, lost.says)
    signal = death_signal(failures[0]) if failures else None
    code = SIGNAL_EXIT_BASE + signal if signal else 1
    return Conclusion(code, "a task failed, and no cause is proven")


def _ended_for_a_remedy(evidence: Evidence) -> bool:
    """Whether we ended it for what its tasks hung in: nobody failed, and it has not finished."""
    decided = (fact for fact in evidence.of(RemedyDecided) if not fact.dry_run)
    return any(fact.remedy in ENDS_ATTEMPT for fact in decided)


def _stopped(evidence: Evidence, asked: StopAsked) -> Conclusion:
    """A scheduler that took the host may try again, if the training was saved for that."""
    saved = next((fact for fact in evidence.of(CheckpointSaved) if fact.path), None)
    if saved is not None and asked.signal == SIGTERM:
        return Conclusion(TRY_AGAIN_CODE, f"stopped by {asked.by}, and saved after that")
    return Conclusion(SIGNAL_EXIT_BASE + asked.signal, f"stopped by {asked.by}")


def _trained_to_the_end(evidence: Evidence, at_s: float) -> bool:
    """Whether the chief and all workers had finished well before somebody asked to stop."""
    ends = [evidence.exit_of(task) for task in evidence.tasks if task.trains]
    return bool(ends) and all(
        end is not None and end.exit_code == 0 and end.at_s <= at_s for end in ends
    )

"""Workers that were lost from a job whose chief has led the training to its end without them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from holdfast.model.cluster import TaskId, chief_of
from holdfast.model.evidence import Evidence
from holdfast.model.facts import TaskExited, TaskNotStarted
from holdfast.model.findings import Finding, Severity
from holdfast.model.remedies import AskHuman
from holdfast.model.watch_facts import StepsSeen
from holdfast.model.words import listed

AGAIN = "start again"  # what would have to be done if the training were not done


@dataclass(frozen=True, slots=True)
class LostAt:
    step: int = -1  # -1: nobody knows
    is_exact: bool = True

    def __str__(self) -> str:
        about = "" if self.is_exact else "about "
        return f" at {about}step {self.step}" if self.step >= 0 else ""


@dataclass(frozen=True, slots=True)
class LostWorkers:
    """Who is missing at the end, and at which step each was lost."""

    chief: TaskId
    steps: dict[TaskId, LostAt]

    @property
    def says(self) -> str:
        told = [str(lost) for lost in self.steps.values()]
        if len(told) == 1:
            return f"done, with one worker lost{told[0]}"
        each = listed(f"{task}{at}" for task, at in zip(self.steps, told, strict=True))
        return f"done, with {len(told)} workers lost: {each}"


def lost_workers(evidence: Evidence) -> LostWorkers | None:
    """None: nobody was lost, or the training has not come to its end.

    With parameter servers, workers are independent of one another: the chief trains on without
    a dead one. It has finished only if nobody asked it to end.
    """
    chief = chief_of(evidence.tasks)
    finished = evidence.exit_of(chief)
    failures = tuple(evidence.failures())
    only_workers = all(failure.task and failure.task.role == "worker" for failure in failures)
    has_ps = any(task.role == "ps" for task in evidence.tasks)
    if not (failures and only_workers and has_ps) or any(evidence.of(TaskNotStarted)):
        return None
    if finished is None or finished.exit_code != 0 or evidence.ended_by_us(finished):
        return None
    return LostWorkers(
        chief,
        {failure.task: _step(evidence, failure, chief) for failure in failures if failure.task},
    )


def with_lost_workers(findings: Sequence[Finding], evidence: Evidence) -> tuple[Finding, ...]:
    """What took a worker from outside is a warning once the training is done without it.

    A mistake in the program or around it stays an error: it would come again.
    """
    lost = lost_workers(evidence)
    if lost is None:
        return tuple(findings)
    lesser = [_lesser(one, lost) if _is_of_loss(one, lost) else one for one in findings]
    return tuple(sorted(lesser, key=lambda one: one.severity is not Severity.ERROR))


def unexplained(findings: Sequence[Finding], evidence: Evidence) -> bool:
    """Whether somebody failed, other than workers of whom it is known why and that it is over."""
    lost = lost_workers(evidence)
    known = {one.proof.culprit for one in findings if one.proof.survived}
    return any(lost is None or one.task not in known for one in evidence.failures())


def _is_of_loss(finding: Finding, lost: LostWorkers) -> bool:
    of_worker = finding.proof.culprit in lost.steps and finding.severity is Severity.ERROR
    return of_worker and not isinstance(finding.remedy, AskHuman)


def _lesser(finding: Finding, lost: LostWorkers) -> Finding:
    worker = finding.proof.culprit
    do = (
        *(one for one in finding.proof.do if AGAIN not in one),
        f"the training need not be run again: {lost.chief} finished it",
        f"if each worker reads a part of the input, nobody has read the rest of {worker}'s",
    )
    proof = replace(finding.proof, severity=Severity.WARNING, do=do, survived=True)
    return replace(finding, proof=proof)


def _step(evidence: Evidence, lost: TaskExited, chief: TaskId) -> LostAt:
    """By its own words, which were read to their end; one that only serves has its chief's."""
    own = [fact.step for fact in evidence.of(StepsSeen, lost.task) if fact.source != "checkpoint"]
    if own:
        return LostAt(max(own))
    seen = [fact for fact in evidence.of(StepsSeen, chief) if fact.source != "checkpoint"]
    before = max((one for one in seen if one.at_s <= lost.at_s), key=_at_s, default=None)
    after = min((one for one in seen if one.at_s > lost.at_s), key=_at_s, default=None)
    if before is None or after is None:
        return LostAt(before.step if before else -1, is_exact=False)
    # Steps are written down now and then: between two of these, they are taken as even.
    share = (lost.at_s - before.at_s) / (after.at_s - before.at_s)
    return LostAt(before.step + round(share * (after.step - before.step)), is_exact=False)


def _at_s(fact: StepsSeen) -> float:
    return fact.at_s

"""Who suffers from a fault that the kernel reports of a device."""

from collections.abc import Iterator

from holdfast.model.cluster import TaskId
from holdfast.model.evidence import Evidence
from holdfast.model.facts import Fact
from holdfast.model.findings import TRY_AGAIN_CODE, Confidence, Proof, Severity
from holdfast.model.pattern import Pattern
from holdfast.model.watch_facts import KernelSaid, TaskMoves, TaskStill

AFTER_S = 60.0
LAG_S = 5.0  # we read the kernel's log a little after it was written


def harmed_after(evidence: Evidence, said: KernelSaid, over: Pattern) -> Iterator[Fact]:
    """Who of that host failed soon after with such words, or stands still since then."""
    for failure in evidence.failures():
        soon = said.at_s - LAG_S <= failure.at_s <= said.at_s + AFTER_S
        over_it = failure.task == said.task or evidence.ended_over(failure, over)
        if soon and over_it and failure.host == said.host:
            yield failure
    moved_s = {fact.task: fact.at_s for fact in evidence.of(TaskMoves)}
    for still in evidence.of(TaskStill):
        near = abs(still.at_s - still.still_s - said.at_s) <= AFTER_S
        if near and still.host == said.host and still.at_s > moved_s.get(still.task, -1.0):
            yield still


def device_proof(
    said: KernelSaid, harmed: Fact | None, culprit: TaskId | None, *, says: str, do: tuple[str, ...]
) -> Proof:
    """An error where somebody suffers from it, else a warning; `says` names the device."""
    whose = f", which {culprit} uses" if culprit else ""
    return Proof(
        facts=(said, harmed) if harmed else (said,),
        culprit=culprit,
        confidence=Confidence.HIGH if harmed else Confidence.LIKELY,
        severity=Severity.ERROR if harmed else Severity.WARNING,
        says=f"{says}{whose}{_what_then(harmed)}: {said.text}",
        do=do,
        exit_code=TRY_AGAIN_CODE if harmed else 1,
    )


def _what_then(harmed: Fact | None) -> str:
    if harmed is None:
        return ""
    return ", and stands still" if isinstance(harmed, TaskStill) else ", and failed over it"

"""Who left no log, where the others' words blame one that is there and waits itself."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from holdfast.diagnose.log_claims import Claim
from holdfast.diagnose.log_records import text_of
from holdfast.model.cluster import TaskId
from holdfast.model.evidence import Evidence
from holdfast.model.facts import OutputEnded, SpecRead
from holdfast.model.findings import Confidence
from holdfast.model.named_tasks import tasks_in
from holdfast.model.spec import members

# Words that come from those who wait, and often name another one of them.
BLAMING = frozenset({"never-started", "peer-gone"})


def unheard_instead(root: Claim, claims: Iterable[Claim], evidence: Evidence) -> Claim:
    """The one without a log in place of one that suffers itself; the claim as it is, if unsure."""
    heard = {fact.task for fact in evidence.of(OutputEnded) if fact.lines_total}
    blamed = root.culprit
    if root.name not in BLAMING or blamed not in heard:
        return root
    suffering = {claim.speaker for claim in claims if claim.name in BLAMING and claim.symptom}
    speakers = {fact.task for fact in root.facts}
    if blamed not in suffering | speakers:
        return root
    absent = _absent(root, heard, evidence)
    if absent is None:
        return root
    return replace(
        root,
        culprit=absent,
        confidence=Confidence.LIKELY,
        says=f"{absent} left no log, while others wait for it or have lost it: it was not started,"
        f" has died, or its log is elsewhere; {blamed} is named, too, and is there",
        do=(f"see whether {absent} runs, and how it ended; if it ran, give its log, too",),
    )


def _absent(root: Claim, heard: set[TaskId | None], evidence: Evidence) -> TaskId | None:
    """The only one that the words name, too; else the only one in a definition that was printed."""
    named = [task for fact in root.facts for task in tasks_in(text_of(fact))]
    defined = [task for spec in evidence.of(SpecRead) for task in members(spec)]
    for known in (named, defined):
        unheard = {task for task in known if task not in heard and task.role != "evaluator"}
        if unheard:
            return _only(sorted(unheard))
    return None


def _only(tasks: Sequence[TaskId]) -> TaskId | None:
    return tasks[0] if len(tasks) == 1 else None

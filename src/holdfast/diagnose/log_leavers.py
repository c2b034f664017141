"""Who left while the others still needed it: all lost a peer that they cannot name, but one."""

from collections.abc import Mapping, Sequence

from holdfast.diagnose.log_claims import ABSENCE_WEIGHT, Claim
from holdfast.diagnose.log_ends import LogEnds
from holdfast.model.cluster import TaskId
from holdfast.model.evidence import Evidence
from holdfast.model.facts import LastWords, LogLine, OutputEnded, TracebackSeen
from holdfast.model.findings import Cause, Confidence
from holdfast.model.log_facts import TotalTold
from holdfast.model.words import listed

ENDED_EARLY = "ended-early"


def leaver(
    symptoms: Sequence[Claim], evidence: Evidence, ends: LogEnds, causes: Mapping[str, Cause]
) -> Claim | None:
    """The one member that trained with the others and does not complain."""
    members = [task for task in evidence.tasks if _trains(task) and _is_heard(evidence, task)]
    victims = [task for task in members if any(claim.speaker == task for claim in symptoms)]
    quiet = [task for task in members if task not in victims and not _is_loud(evidence, task)]
    named = any(claim.culprit for claim in symptoms)
    if named or len(quiet) != 1 or len(victims) != len(members) - 1 or not victims:
        return None
    gone = quiet[0]
    words = [fact for fact in evidence.of(LastWords, gone) if fact.lines]
    if ends.last_step(gone) < 0:
        return None
    counts = _counts(evidence, gone, victims)
    return Claim(
        name=ENDED_EARLY,
        cause=causes[ENDED_EARLY],
        weight=ABSENCE_WEIGHT,
        confidence=Confidence.LIKELY,
        culprit=gone,
        place="",
        facts=(words[-1],),
        says=f"{gone} left at step {ends.last_step(gone)} without a word of trouble, and"
        f" {listed(victims)} lost a peer at step {max(map(ends.last_step, victims))}{counts}",
        do=(
            f"see why {gone} was done: its input, its steps, its stopping rule; or who killed it",
            "give every task the same number of steps",
        ),
    )


def _trains(task: TaskId) -> bool:
    return task.trains or task.role == "rank"


def _is_heard(evidence: Evidence, task: TaskId) -> bool:
    return any(fact.lines_total for fact in evidence.of(OutputEnded, task))


def _is_loud(evidence: Evidence, task: TaskId) -> bool:
    """Whether something in its own log sounds like trouble."""
    bad = any(line.level in {"E", "F"} for line in evidence.of(LogLine, task))
    return bad or any(evidence.of(TracebackSeen, task))


def _counts(evidence: Evidence, gone: TaskId, victims: Sequence[TaskId]) -> str:
    """How many steps each announced, where the logs tell that they are not the same."""
    totals = {fact.task: fact.total for fact in evidence.of(TotalTold) if fact.total}
    fewer, more = totals.get(gone, 0), max((totals.get(task, 0) for task in victims), default=0)
    return f": its input has {fewer} steps, that of the others {more}" if 0 < fewer < more else ""

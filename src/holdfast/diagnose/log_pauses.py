"""Pauses that all trainers made at once: whoever serves them all stood still."""

from collections.abc import Iterator, Mapping

from holdfast.diagnose.log_claims import ABSENCE_WEIGHT, Claim
from holdfast.model.cluster import TaskId
from holdfast.model.evidence import Evidence
from holdfast.model.facts import LastWords, LogLine
from holdfast.model.findings import Cause, Confidence, Severity
from holdfast.model.middle import median_low
from holdfast.model.pattern import Pattern
from holdfast.model.words import listed, seconds_text

TRAINING_PAUSED = "training-paused"
# TensorFlow's hooks tell after so many steps how long these took.
TOOK = Pattern(r"step = \d+ \((\d{1,7}\.\d+) sec\)")
TOOK_LONG = Pattern(r"step = \d+ \(\d{2,7}\.\d+ sec\)")
ALSO_PAUSED = (TOOK_LONG,)
UNUSUAL = 10.0  # times as long as usual
ALIKE = 1.2  # by which the pauses of one moment may differ in length
TRAINERS_MIN = 2


def paused_together(evidence: Evidence, causes: Mapping[str, Cause]) -> Iterator[Claim]:
    """One that only some made is their own affair: a checkpoint, an evaluation."""
    longest = {task: found for task in evidence.tasks if (found := _longest(evidence, task))}
    if len(longest) < TRAINERS_MIN or longest.keys() != _tell_steps(evidence):
        return
    lengths = [took_s for took_s, _ in longest.values()]
    if max(lengths) > ALIKE * min(lengths):
        return
    servers = [task for task in evidence.tasks if task.role == "ps"]
    culprit = servers[0] if len(servers) == 1 else None
    who = f", which {culprit} serves," if culprit else ""
    yield Claim(
        name=TRAINING_PAUSED,
        cause=causes[TRAINING_PAUSED],
        weight=ABSENCE_WEIGHT,
        confidence=Confidence.LIKELY,
        severity=Severity.WARNING,
        culprit=culprit,
        place="",
        facts=tuple(line for _, line in longest.values()),
        says=f"{listed(sorted(longest))}{who} stood still for {seconds_text(min(lengths))} at"
        " once, and went on",
    )


def _longest(evidence: Evidence, task: TaskId) -> tuple[float, LogLine] | None:
    """Its longest time between two reports, if that is far from what is usual for it."""
    told = [(_took_s(line.text), line) for line in evidence.lines(TOOK_LONG, task)]
    usual = _usual_s(evidence, task)
    longest = max(told, key=lambda one: one[0], default=None)
    return longest if longest and usual and longest[0] >= UNUSUAL * usual else None


def _usual_s(evidence: Evidence, task: TaskId) -> float:
    words = (line for fact in evidence.of(LastWords, task) for line in fact.lines)
    return median_low([took_s for line in words if (took_s := _took_s(line))] or [0.0])


def _took_s(text: str) -> float:
    found = TOOK.search(text)
    return float(found.group(1)) if found else 0.0


def _tell_steps(evidence: Evidence) -> set[TaskId]:
    """Those whose pauses could be seen."""
    return {task for task in evidence.tasks if _usual_s(evidence, task)}

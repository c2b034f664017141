"""Tasks that all left in order, in the middle of their training: they were told to go."""

from collections.abc import Iterator, Mapping

from holdfast.diagnose.log_claims import ABSENCE_WEIGHT, Claim
from holdfast.diagnose.log_ends import LogEnds
from holdfast.model.evidence import Evidence
from holdfast.model.findings import Cause, Confidence, Severity
from holdfast.model.pattern import Pattern
from holdfast.model.words import listed

PREEMPTED = "preempted-by-scheduler"
# It saves a checkpoint and ends all tasks when one of them is told to go, without a word.
SAVES_AND_LEAVES = Pattern(r"PreemptionCheckpointHandler\b")
ALSO_LEAVING = (SAVES_AND_LEAVES,)
TOGETHER_MIN = 2


def left_together(
    evidence: Evidence, ends: LogEnds, causes: Mapping[str, Cause]
) -> Iterator[Claim]:
    """Trainers of a program that obeys preemption, all gone in order, and none of them done."""
    trainers = [task for task in evidence.tasks if ends.last_step(task) >= 0]
    obeys = list(evidence.lines(SAVES_AND_LEAVES))
    if len(trainers) < TOGETHER_MIN or not obeys or PREEMPTED not in causes:
        return
    if all(ends.left_in_order(task) and not ends.finished(task) for task in trainers):
        step = max(map(ends.last_step, trainers))
        yield Claim(
            name=PREEMPTED,
            cause=causes[PREEMPTED],
            weight=ABSENCE_WEIGHT,
            confidence=Confidence.GUESS,
            severity=Severity.WARNING,  # who ends well without a word does the same
            culprit=None,
            place="",
            facts=tuple(obeys[:TOGETHER_MIN]),
            says=f"{listed(trainers)} left in order at step {step}, and none of them says that it"
            " is done: most likely one was told to go, and PreemptionCheckpointHandler ended all",
        )

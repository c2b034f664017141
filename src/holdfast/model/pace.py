"""How long a task's steps take, against the best that it has had."""

from itertools import pairwise

from holdfast.model.cluster import TaskId
from holdfast.model.evidence import Evidence
from holdfast.model.watch_facts import StepsSeen

ON_S, ON_STEPS = 2.0, 3  # so much further than a pause of others, it does not share it
SLOWER = 3.0  # how many times as long as at their best


def slowed(evidence: Evidence, task: TaskId | None) -> tuple[StepsSeen, ...]:
    """The newest words on its steps, as long as all of them are slow; none: it is not slow now.

    A pause makes the mean of the steps around it long. By when they were told, they are not.
    """
    told = [fact for fact in evidence.of(StepsSeen, task) if fact.step_s > 0]
    best_s = min((fact.step_s for fact in told), default=0.0)
    slow: list[StepsSeen] = []
    for fact in reversed(told):
        if fact.step_s < SLOWER * best_s:
            break
        slow.insert(0, fact)
    if not slow:
        return ()
    over_s, steps = slow[-1].at_s - slow[0].at_s, slow[-1].step - slow[0].step
    return () if over_s < SLOWER * best_s * steps else tuple(slow)


def steps_on(evidence: Evidence, task: TaskId, *, since_s: float) -> bool:
    """Whether a task has gone on by several steps since then, at its usual pace."""
    told = [fact for fact in evidence.of(StepsSeen, task) if fact.source != "checkpoint"]
    for before, after in pairwise(told):
        last_s = before.at_s + (after.step - before.step) * after.step_s
        if after.step_s and last_s - since_s >= max(ON_S, ON_STEPS * after.step_s):
            return True
    return False

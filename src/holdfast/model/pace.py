"""How long a task's steps take, against the best that it has had."""

from holdfast.model.cluster import TaskId
from holdfast.model.evidence import Evidence
from holdfast.model.watch_facts import StepsSeen

SLOWER = 3.0  # how many times as long as at their best


def slowed(evidence: Evidence, task: TaskId | None) -> tuple[StepsSeen, ...]:
    """The newest words on its steps, as long as all of them are slow; none: it is not slow now."""
    told = [fact for fact in evidence.of(StepsSeen, task) if fact.step_s > 0]
    best_s = min((fact.step_s for fact in told), default=0.0)
    slow: list[StepsSeen] = []
    for fact in reversed(told):
        if fact.step_s < SLOWER * best_s:
            break
        slow.insert(0, fact)
    return tuple(slow)

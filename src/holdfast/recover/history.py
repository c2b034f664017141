"""What a job's journal tells of earlier decisions: the budget survives whoever keeps it. Pure."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from holdfast.model.cluster import TaskId
from holdfast.model.facts import AttemptStarted, Fact, TaskStarted
from holdfast.model.recovery_facts import RemedyAnswered, RemedyDecided
from holdfast.model.watch_facts import StepsSeen

STEP_SLACK = 2  # steps are seen a moment after they were taken
SPELL_S = 30.0  # what comes back sooner after a wait is the same trouble still
NEW_ATTEMPT = frozenset({"relaunch", "replace"})
CHANGES = NEW_ATTEMPT | {"restart"}
ENDS_ATTEMPT = NEW_ATTEMPT | {"stop"}


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """Everything that was done about failures of this job, oldest first."""

    failures: tuple[RemedyDecided, ...] = ()  # those that something was done about
    relaunches: int = 0
    restarts: Mapping[TaskId, int] = field(default_factory=dict)
    waits: tuple[RemedyDecided, ...] = ()  # since something was done
    declined: bool = False  # the last answer was no

    def same(self, cause: str, culprit: TaskId | None, step: int) -> tuple[RemedyDecided, ...]:
        """The same failure at the same step, each time it came; unknown steps are no proof."""
        return tuple(
            earlier
            for earlier in self.failures
            if (earlier.cause, earlier.culprit) == (cause, culprit)
            and min(step, earlier.step) >= 0
            and abs(earlier.step - step) <= STEP_SLACK
        )

    def waited(self, cause: str, *, attempt: int, at_s: float) -> tuple[RemedyDecided, ...]:
        """The waits for a cause that followed one another until now."""
        row: list[RemedyDecided] = []
        for wait in reversed(self.waits):
            if (wait.attempt, wait.cause) == (attempt, cause):
                if at_s - over_s(wait) > SPELL_S:
                    break
                row.append(wait)
                at_s = wait.at_s
        return tuple(reversed(row))

    def attempts_lost_by(self, host: str) -> int:
        return len({earlier.attempt for earlier in self.failures if earlier.culprit_host == host})


def over_s(wait: RemedyDecided) -> float:
    """When a wait is over."""
    return wait.at_s + wait.wait_s


def history_of(facts: Iterable[Fact]) -> History:
    """From the facts of all attempts, in the order of the journal."""
    failures: list[RemedyDecided] = []
    restarts: Counter[TaskId] = Counter()
    waits: list[RemedyDecided] = []
    relaunches = 0
    agreed, _, declined = _agreed(with_last_steps(facts))
    for decided in agreed:
        does = decided.would or decided.remedy
        if does == "wait":
            waits.append(decided)
        elif does in CHANGES:
            failures.append(decided)
            waits.clear()
            relaunches += does in NEW_ATTEMPT
            restarts.update(map(TaskId.parse, decided.tasks))
    return History(
        failures=tuple(failures),
        relaunches=relaunches,
        restarts=restarts,
        waits=tuple(waits),
        declined=declined,
    )


def with_last_steps(facts: Iterable[Fact]) -> list[Fact]:
    """The same, with the step to which each attempt came that was ended for a new one.

    How far the dead had come may be told only after it was decided what to do about it.
    """
    known = list(facts)
    last: Counter[int] = Counter()
    for fact in known:
        if isinstance(fact, StepsSeen):
            last[fact.attempt] = max(last[fact.attempt], fact.step)
    return [
        replace(fact, step=max(fact.step, last[fact.attempt]))
        if isinstance(fact, RemedyDecided) and fact.remedy in NEW_ATTEMPT and fact.attempt in last
        else fact
        for fact in known
    ]


def _agreed(facts: Iterable[Fact]) -> tuple[list[RemedyDecided], RemedyDecided | None, bool]:
    """What was decided, without what nobody agreed to; what is still asked; whether no was said."""
    agreed: list[RemedyDecided] = []
    asked: RemedyDecided | None = None
    declined = False
    for fact in facts:
        if isinstance(fact, RemedyDecided) and not fact.dry_run:
            asked = fact if fact.remedy == "ask" else None
            agreed += [] if asked else [fact]
            declined = False
        elif isinstance(fact, RemedyAnswered) and asked is not None:
            agreed += [asked] if fact.yes else []
            asked, declined = None, not fact.yes
    return agreed, asked, declined


def undone(facts: Iterable[Fact]) -> RemedyDecided | None:
    """What is still to be done or answered, if whoever decided it died: it is not decided twice."""
    known = tuple(facts)
    agreed, asked, declined = _agreed(known)
    last = agreed[-1] if agreed and not asked and not declined else asked
    if last is None or last is asked or last.remedy == "stop":
        return last
    does = last.would or last.remedy
    if does in NEW_ATTEMPT:
        begun = max((fact.attempt for fact in known if isinstance(fact, AttemptStarted)), default=1)
        return None if begun > last.attempt else last
    started = {
        str(fact.task)
        for fact in known
        if isinstance(fact, TaskStarted) and fact.attempt == last.attempt and fact.at_s > last.at_s
    }
    return last if does == "restart" and not started.issuperset(last.tasks) else None

"""What was done about each failure, and how long each part of it took. Pure."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from holdfast.model.cluster import TaskId
from holdfast.model.facts import AttemptStarted, Fact, TaskExited, TaskStarted
from holdfast.model.recovery_facts import CheckpointChosen, RemedyDecided
from holdfast.model.watch_facts import StepsSeen
from holdfast.recover.history import CHANGES, NEW_ATTEMPT, history_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovery:
    """One decision, and what became of it. A time that the journal does not tell is missing.

    `detect`: from the failure until it was known; `decide`: until the decision stood in the
    journal; `end`: until all who had to end for it were gone; `wait`: what was waited on purpose
    beyond that; `start`: until all who were started again were there; `restore`: until their
    first step was seen.
    """

    decided: RemedyDecided
    seconds: dict[str, float] = field(default_factory=dict)
    chosen: CheckpointChosen | None = None


def recoveries(facts: Iterable[Fact]) -> list[Recovery]:
    """From the facts of all attempts, in the order of the journal."""
    known = tuple(facts)
    began_s = began_unix_s(known)
    return [
        Recovery(
            decided=decided,
            seconds=dict(_parts(known, decided, began_s)),
            chosen=_chosen(known, decided),
        )
        for decided in known
        if isinstance(decided, RemedyDecided)
    ]


def began_unix_s(facts: Iterable[Fact]) -> dict[int, float]:
    """When each attempt began, by the wall clock."""
    started = (fact for fact in facts if isinstance(fact, AttemptStarted))
    return {fact.attempt: fact.began_unix_s for fact in started}


def _chosen(facts: Sequence[Fact], decided: RemedyDecided) -> CheckpointChosen | None:
    found = (fact for fact in facts if isinstance(fact, CheckpointChosen))
    of_attempt = (fact for fact in found if fact.attempt == decided.attempt)
    return next(of_attempt, None) if _does(decided) in NEW_ATTEMPT else None


def _does(decided: RemedyDecided) -> str:
    return "" if decided.dry_run else decided.would or decided.remedy


def _parts(
    facts: Sequence[Fact], decided: RemedyDecided, began_s: dict[int, float]
) -> Iterator[tuple[str, float]]:
    failed_s, known_s = _failed_s(facts, decided), _known_s(facts, decided)
    if failed_s is None:
        return
    yield "detect", round(known_s - failed_s, 3)
    yield "decide", round(decided.at_s - known_s, 3)
    does = _does(decided)
    if does not in CHANGES:
        return
    attempt = decided.attempt + (does in NEW_ATTEMPT)
    if attempt not in began_s:
        return
    # On the clock of the attempt that was decided about.
    shift_s = began_s[attempt] - began_s.get(decided.attempt, began_s[attempt])
    tasks = set(map(TaskId.parse, decided.tasks))
    later = [
        (fact, fact.at_s + shift_s)
        for fact in facts
        if fact.attempt == attempt
        # Another attempt came after the decision, whatever somebody did to the clock meanwhile.
        and (attempt != decided.attempt or fact.at_s > decided.at_s)
        and (not tasks or fact.task in tasks)
    ]
    starts = [at_s for fact, at_s in later if isinstance(fact, TaskStarted)]
    ended_s = _ended_s(facts, decided, until_s=min(starts, default=None))
    if ended_s > decided.at_s:
        yield "end", round(ended_s - decided.at_s, 3)
    due_s = max(decided.at_s + decided.wait_s, ended_s)
    yield "wait", round(due_s - ended_s, 3)
    up_s = max(starts[: len(tasks) or None], default=None)
    if up_s is not None:
        yield "start", round(max(0.0, up_s - due_s), 3)
        steps = (at_s for fact, at_s in later if isinstance(fact, StepsSeen) and at_s >= up_s)
        first_s = next(steps, None)
        if first_s is not None:
            yield "restore", round(first_s - up_s, 3)


def _failed_s(facts: Sequence[Fact], decided: RemedyDecided) -> float | None:
    """When the failure came: since when its cause held, or when its culprit ended."""
    if decided.since_s >= 0:
        return decided.since_s
    ends = (fact for fact in _ends(facts, decided) if fact.at_s <= decided.at_s)
    own = [fact.at_s for fact in ends if fact.task == decided.culprit and fact.exit_code != 0]
    return own[-1] if own else None


def _known_s(facts: Sequence[Fact], decided: RemedyDecided) -> float:
    """When it was known: we began to wait for it to go over, or all had ended, or just now."""
    before = history_of(facts[: facts.index(decided)])
    waited = before.waited(decided.cause, attempt=decided.attempt, at_s=decided.at_s)
    if waited:
        return waited[0].at_s
    ends = {fact.task: fact.at_s for fact in _ends(facts, decided) if fact.at_s <= decided.at_s}
    started = (fact for fact in facts if isinstance(fact, TaskStarted))
    begun = {fact.task for fact in started if fact.attempt == decided.attempt}
    return max(ends.values()) if ends.keys() >= begun and ends else decided.at_s


def _ended_s(facts: Sequence[Fact], decided: RemedyDecided, *, until_s: float | None) -> float:
    """When the last of those was gone who had to end first: not before the decision."""
    tasks = set(map(TaskId.parse, decided.tasks))
    ends = [
        fact.at_s
        for fact in _ends(facts, decided)
        if (not tasks or fact.task in tasks) and (until_s is None or fact.at_s <= until_s)
    ]
    return max(decided.at_s, *ends) if ends else decided.at_s


def _ends(facts: Sequence[Fact], decided: RemedyDecided) -> Iterator[TaskExited]:
    ends = (fact for fact in facts if isinstance(fact, TaskExited))
    return (fact for fact in ends if fact.attempt == decided.attempt)

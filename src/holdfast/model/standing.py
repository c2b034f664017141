"""Where each task of a cluster stands, by the last looks that were taken at it."""

from collections.abc import Iterator
from dataclasses import dataclass

from holdfast.model.cluster import TaskId
from holdfast.model.core_time import able_to_run_s, observer_late_s
from holdfast.model.evidence import Evidence
from holdfast.model.facts import AttemptStarted, PathProbed, SocketsSeen, StartBlocked, StopAsked
from holdfast.model.path import Outcome
from holdfast.model.watch_facts import StepsSeen

# Within a run a look that fails may be early, or fall into a short cut: this long it must last.
LASTING_S = 30.0
# Where somebody has failed, nothing will heal any more: long enough not to be its aftermath.
GIVEN_UP_S = 6.0
CUT = frozenset({Outcome.FILTERED, Outcome.UNREACHABLE})


@dataclass(frozen=True, slots=True)
class Standing:
    """The looks at one task from one place, of which the last counts."""

    task: TaskId
    look: PathProbed
    since_s: float  # since when the looks have this outcome

    @property
    def is_ready(self) -> bool:
        return is_ready(self.look)

    @property
    def seen_twice(self) -> bool:
        """Whether two looks agree: one alone may be a lost packet."""
        return self.look.at_s > self.since_s


def is_ready(look: PathProbed) -> bool:
    """Whether the task itself answered, under its own name."""
    return look.outcome == Outcome.ANSWERED and look.name == str(look.target)


def standings(evidence: Evidence) -> dict[TaskId, Standing]:
    """Every task that somebody outside of the cluster looked at, at its expected address.

    From several hosts: whoever gets an answer knows best.
    """
    seen: dict[tuple[str, TaskId], Standing] = {}
    until_s = evidence.ending_s()
    for look in evidence.of(PathProbed):
        if look.target is None or look.task is not None or look.at_s > until_s:
            continue
        key = (look.host, look.target)
        if key not in seen or seen[key].look.address == look.address:
            # Elsewhere than at first, it is a look for a lost task, not at its place.
            seen[key] = _joined(seen.get(key), look, look.target)
    found: dict[TaskId, Standing] = {}
    for (_, task), standing in seen.items():
        if task not in found or (standing.is_ready and not found[task].is_ready):
            found[task] = standing
    return found


def views(evidence: Evidence) -> Iterator[Standing]:
    """The last look of every place at every task: from a task's own place, or from a host."""
    last: dict[tuple[TaskId | None, str, TaskId], Standing] = {}
    until_s = evidence.ending_s()
    for look in evidence.of(PathProbed):
        if look.target is not None and look.at_s <= until_s:
            key = (look.task, look.host, look.target)
            last[key] = _joined(last.get(key), look, look.target)
    return iter(last.values())


def missing(evidence: Evidence) -> dict[TaskId, Standing]:
    """Who keeps the cluster from being whole, by looks that count.

    A chief that connects to its cluster accepts connections and does not answer until it has
    found everybody: while somebody else is missing, it only waits. Whoever has made a step was
    there: what holds it up now does not hold up the start.
    """
    found = standings(evidence)
    trained = {
        fact.task
        for fact in evidence.of(StepsSeen)
        if fact.step > 0 and fact.source != "checkpoint"  # which may be of an earlier run
    }
    counts = {
        task: standing
        for task, standing in found.items()
        if not standing.is_ready
        and task not in trained
        and standing.look.outcome != Outcome.BLIND
        and lasts(evidence, standing)
    }
    others = [task for task, at in counts.items() if at.look.outcome != Outcome.STALLED]
    stalled = [task for task, at in counts.items() if at.look.outcome == Outcome.STALLED]
    if not others and len(stalled) > 1:
        others = [task for task in stalled if task.role != "chief"]
    waiting = {
        task
        for task in stalled
        if task.role == "chief"
        and (others or any(not_found_by(task, evidence)) or any(evidence.failures()))
    }
    return {task: at for task, at in counts.items() if task not in waiting}


def not_found_by(task: TaskId, evidence: Evidence) -> Iterator[TaskId]:
    """Whom a task cannot find where its own definition says, by looks from its own place."""
    for view in views(evidence):
        known = view.is_ready or view.look.outcome in {Outcome.STALLED, Outcome.BLIND}
        if view.look.task == task and not known:
            yield view.task
    last = max(evidence.of(SocketsSeen, task), key=lambda seen: seen.at_s, default=None)
    for peer, standing in standings(evidence).items():
        if last is not None and standing.look.address in last.trying:
            yield peer


def lasts(evidence: Evidence, standing: Standing) -> bool:
    """Whether a bad look is more than a moment: outside of a run somebody asks about now."""
    if not any(evidence.of(AttemptStarted)):
        return True
    blocked = next(evidence.of(StartBlocked), None)
    if blocked is not None and str(standing.task) in blocked.missing:
        return True
    if blocked is not None and standing.look.outcome not in CUT:
        return False
    over = any(evidence.of(StopAsked)) or any(evidence.failures())
    if standing.look.outcome == Outcome.REFUSED and not over:
        return False  # It may only be late: how late is too late, the deadline says.
    needed_s = GIVEN_UP_S if any(evidence.failures()) else LASTING_S
    return lasted_s(evidence, standing) >= needed_s


def lasted_s(evidence: Evidence, standing: Standing) -> float:
    """How long looks have had this outcome, in time in which we and the task could run.

    Who gets no core opens no port and answers nobody. That packets arrive needs none of it.
    """
    look, since_s = standing.look, standing.since_s
    late_s = observer_late_s(evidence, look.host, since_s=since_s, until_s=look.at_s)
    if look.outcome in CUT:
        return look.at_s - since_s - late_s
    able_s = able_to_run_s(evidence, standing.task, since_s=since_s, until_s=look.at_s)
    return able_s - late_s


def anybody_ready(evidence: Evidence) -> bool:
    """Whether this cluster is up at all: before its start everybody is refused."""
    return any(standing.is_ready for standing in standings(evidence).values())


def _joined(earlier: Standing | None, look: PathProbed, task: TaskId) -> Standing:
    same = earlier is not None and earlier.look.outcome == look.outcome
    since_s = earlier.since_s if earlier is not None and same else look.at_s
    return Standing(task, look, since_s)

"""How each task stands, for the status line: its step, its trouble, and whom it waits for."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from holdfast.model.cluster import TaskId
from holdfast.model.evidence import ENDING
from holdfast.model.facts import (
    AttemptStarted,
    Fact,
    SignalSent,
    StopAsked,
    TaskExited,
    TaskNotStarted,
    TaskStarted,
)
from holdfast.model.finding_facts import FindingTakenBack, FindingTold
from holdfast.model.signals import signal_name
from holdfast.model.watch_facts import StateChanged, StepsSeen
from holdfast.views.live import TaskMark
from holdfast.views.taken_back import as_of_now

WELL = frozenset({"starting", "ready", "training", "done", "dead", "ended"})
ALIVE = frozenset({"●", "…", "!"})
OVER = frozenset({"✓", "✗", "■"})
TOLD_BY_PROGRAM = "told"  # steps of this source are exact, also where they go back
_GRAVITY = ("notice", "warning", "error")


@dataclass(frozen=True, slots=True)
class Standing:
    """What is known of one task."""

    mark: str = "·"
    words: str = ""  # how it ended, or in what trouble it is
    step: int = -1

    def exited(self, fact: TaskExited, *, was_told: bool) -> "Standing":
        if fact.exit_code == 0:
            return Standing("✓")
        if fact.unseen:
            return Standing("■", "gone")
        if was_told:
            return Standing("■")
        return Standing("✗", signal_name(fact.signal) if fact.signal else f"exit {fact.exit_code}")

    def changed(self, state: str) -> "Standing":
        """By a state that was judged; who has ended keeps its mark."""
        if self.mark not in ALIVE:
            return self
        if state in WELL:
            return replace(self, mark="●", words="")
        if state == "waiting":
            return replace(self, mark="…", words="")
        return replace(self, mark="!", words=state)

    def stepped(self, step: int, *, exact: bool = False) -> "Standing":
        """To the newest step. What was seen earlier may be told later: it is the smaller one."""
        return replace(self, step=step if exact else max(step, self.step))


class TaskMarks:
    """Follows the facts of a run; knows what is told of it right now."""

    def __init__(self, tasks: Iterable[TaskId]) -> None:
        self._standings = {task: Standing() for task in tasks}
        self._asked: set[TaskId | None] = set()  # who was told to end
        self._attempt = 1
        self._told: dict[tuple[str, str], tuple[FindingTold, float]] = {}
        self._taken_back: set[tuple[str, str]] = set()

    def see(self, fact: Fact, at_s: float) -> None:
        match fact:
            case AttemptStarted() if fact.attempt > self._attempt:
                self._attempt = fact.attempt
                self._asked.clear()
                self._told.clear()
                self._standings = {task: Standing() for task in self._standings}
            case SignalSent():
                self._asked.update({fact.task} if fact.signal in ENDING else ())
            case StopAsked():
                self._asked.update(self._standings)
            case FindingTold():
                self._told[_key(fact)] = fact, at_s
                self._taken_back.discard(_key(fact))
            case FindingTakenBack():
                self._told.pop(_key(fact), None)
                self._taken_back.add(_key(fact))
        if fact.task in self._standings:
            self._standings[fact.task] = self._seen(fact, self._standings[fact.task])

    def _seen(self, fact: Fact, old: Standing) -> Standing:
        match fact:
            case TaskStarted():
                self._asked.discard(fact.task)
                return Standing("●")
            case TaskNotStarted():
                return Standing("✗", "not started")
            case TaskExited():
                return old.exited(fact, was_told=fact.task in self._asked)
            case StateChanged():
                return old.changed(fact.state)
            case StepsSeen():
                return old.stepped(fact.step, exact=fact.source == TOLD_BY_PROGRAM)
        return old

    def printed(self, task: TaskId, step: int) -> None:
        """A step that stands in the task's own output."""
        self._standings[task] = self._standings[task].stepped(step)

    def is_taken_back(self, cause: str, culprit: str | None) -> bool:
        """Journals of old do not say what is to blame where that is no task."""
        is_task = any(str(task) == culprit for task in self._standings)
        keys = {(cause, culprit or ""), (cause, (culprit or "") if is_task else "")}
        return not keys.isdisjoint(self._taken_back)

    @property
    def are_over(self) -> bool:
        return all(one.mark in OVER for one in self._standings.values())

    def shown(self) -> Sequence[TaskMark]:
        """The culprit of what is told now stands out, and whoever waits for it is marked, too."""
        held = sorted((fact for fact, _ in self._told.values()), key=_gravity)
        causes = {str(fact.task): fact.cause for fact in held}
        waiting = {name for fact in held for name in fact.waiting}
        return [
            _mark(str(task), one, causes.get(str(task), ""), waits=str(task) in waiting)
            for task, one in self._standings.items()
        ]

    def news(self, at_s: float) -> str:
        """The gravest that is told now, the newest of these first, in one sentence; or nothing."""
        held = sorted(self._told.values(), key=lambda one: (_gravity(one[0]), one[1]))
        if not held:
            return ""
        fact, told_s = held[-1]
        return f"{fact.severity}: {as_of_now(fact.says, age_s=max(0.0, at_s - told_s))}"


def _mark(task: str, one: Standing, cause: str, *, waits: bool) -> TaskMark:
    step = f"step {one.step}" if one.step >= 0 else ""
    if one.mark not in ALIVE:
        return TaskMark(task=task, mark=one.mark, words=one.words)
    if one.mark == "!":
        return TaskMark(task=task, mark="!", words=one.words)
    if cause == "keeps-waiting":
        return TaskMark(task=task, mark="!", words=cause)
    if waits or one.mark == "…":
        return TaskMark(task=task, mark="…")
    if cause:
        return TaskMark(task=task, mark="!", words=f"{cause} {step}".rstrip())
    return TaskMark(task=task, mark=one.mark, words=step)


def _key(fact: FindingTold | FindingTakenBack) -> tuple[str, str]:
    return fact.cause, str(fact.task) if fact.task else fact.place


def _gravity(fact: FindingTold) -> int:
    return _GRAVITY.index(fact.severity) if fact.severity in _GRAVITY else -1

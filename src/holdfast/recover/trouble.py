"""Where a job stands after a failure: who failed, who goes on, how far it had come. Pure."""

import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

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
from holdfast.model.watch_facts import StepsSeen, TaskMoves, TaskStill
from holdfast.recover.strategy import dooms


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    """The newest attempt, as far as a decision needs it."""

    attempt: int
    tasks: tuple[TaskId, ...]
    failed: frozenset[TaskId]  # ended badly and by themselves, and were not started again
    training: frozenset[TaskId]  # who still trains, and was not told to end
    step: int = -1  # how far any task had come; -1: nobody told
    stepped_s: Mapping[TaskId, float] = field(default_factory=dict)  # when each last went on
    still: frozenset[TaskId] = frozenset()  # who is known to stand still
    at_s: float = 0.0  # now
    hosts: Mapping[TaskId, str] = field(default_factory=dict)
    asked: bool = False  # somebody outside asked for the end
    trained: bool = False  # the chief, or every worker, has ended well
    seed: int = 0  # for what is left to chance

    @property
    def doomed(self) -> bool:
        """Whether the others cannot finish without those who failed."""
        return any(dooms(task, self.tasks) for task in self.failed)


def trouble_of(facts: Iterable[Fact], *, at_s: float | None = None) -> Trouble:
    """From the facts of all attempts. Who was started again has not failed.

    Without `at_s`, now is when the last of them was seen.
    """
    known = tuple(facts)
    attempt = max((fact.attempt for fact in known), default=1)
    seen = _Seen()
    for fact in sorted((one for one in known if one.attempt == attempt), key=lambda one: one.at_s):
        seen.take(fact)
    return Trouble(
        attempt=attempt,
        tasks=seen.tasks,
        failed=frozenset(seen.failed),
        training=frozenset(task for task in seen.running - seen.told if task.trains),
        step=seen.step,
        stepped_s=seen.stepped_s,
        still=frozenset(seen.still),
        at_s=seen.at_s if at_s is None else at_s,
        hosts=seen.hosts,
        asked=seen.asked,
        trained=_is_trained(seen.tasks, seen.well),
        seed=zlib.crc32(f"{_began_unix_s(known)}".encode()),
    )


def _is_trained(tasks: tuple[TaskId, ...], well: set[TaskId]) -> bool:
    """A chief that ended well has led the training to its end, whoever fails after it.

    With parameter servers and without a chief, the first worker leads.
    """
    trainers = {task for task in tasks if task.trains}
    leaders = {task for task in trainers if task.role == "chief"}
    if any(task.role == "ps" for task in tasks):
        leaders = leaders or trainers & {TaskId("worker", 0)}
    leaders = leaders or trainers
    return bool(leaders) and leaders <= well


def _began_unix_s(facts: Iterable[Fact]) -> float:
    """When the job began: in every journal, and different for every job."""
    return next((fact.began_unix_s for fact in facts if isinstance(fact, AttemptStarted)), 0.0)


class _Seen:
    """An attempt while it is read."""

    def __init__(self) -> None:
        self.tasks: tuple[TaskId, ...] = ()
        self.running: set[TaskId] = set()
        self.failed: set[TaskId] = set()
        self.well: set[TaskId] = set()
        self.told: set[TaskId] = set()  # to end, by us
        self.hosts: dict[TaskId, str] = {}
        self.steps: dict[TaskId, int] = {}
        self.stepped_s: dict[TaskId, float] = {}
        self.still: set[TaskId] = set()
        self.at_s = 0.0
        self.step = -1
        self.asked = False

    def take(self, fact: Fact) -> None:
        self.at_s = fact.at_s
        match fact:
            case AttemptStarted():
                self.tasks = tuple(map(TaskId.parse, fact.tasks))
            case TaskStarted(task=TaskId() as task):
                self._start(task, fact.host)
            case TaskExited(task=TaskId() as task):
                self._end(task, well=fact.exit_code == 0)
            case TaskNotStarted(task=TaskId() as task):
                self._end(task, well=False)
            case SignalSent(task=TaskId() as task) if fact.signal in ENDING:
                self.told.add(task)
            case TaskStill(task=TaskId() as task):
                self.still.add(task)
            case TaskMoves(task=TaskId() as task):
                self.still.discard(task)
            case StepsSeen(task=TaskId() as task):
                self._step(task, fact)
            case StopAsked():
                self.asked = True

    def _start(self, task: TaskId, host: str) -> None:
        self.running.add(task)
        self.failed.discard(task)
        self.told.discard(task)
        self.still.discard(task)
        self.hosts[task] = host

    def _step(self, task: TaskId, seen: StepsSeen) -> None:
        self.step = max(self.step, seen.step)
        if self.steps.get(task) != seen.step:
            self.steps[task], self.stepped_s[task] = seen.step, seen.at_s
            self.still.discard(task)

    def _end(self, task: TaskId, *, well: bool) -> None:
        self.running.discard(task)
        if well:
            self.well.add(task)
        elif task not in self.told and not self.asked:
            self.failed.add(task)

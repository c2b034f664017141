"""When to judge, and what to tell of it: each finding once, each change of a task's state."""

import math
import time
from collections.abc import Callable, Iterable
from dataclasses import replace

from holdfast.coordinator.kept import kept
from holdfast.coordinator.telling import GONE_S, Tell, Telling
from holdfast.diagnose import diagnose
from holdfast.diagnose.states import TaskState, task_states
from holdfast.model.activity_facts import ActivitySeen
from holdfast.model.cluster import TaskId
from holdfast.model.evidence import Evidence
from holdfast.model.facts import (
    DiskMeasured,
    EnvironmentSeen,
    Fact,
    LogLine,
    PathMeasured,
    PathProbed,
    ProcessSeen,
    SpecRead,
    SpecUnreadable,
    StartBlocked,
    TaskExited,
    TaskNotStarted,
    TaskStarted,
    TracebackSeen,
    VersionsSeen,
)
from holdfast.model.finding_facts import FindingTakenBack
from holdfast.model.findings import Diagnosis
from holdfast.model.pace import SLOWER
from holdfast.model.path import Outcome
from holdfast.model.recovery_facts import RemedyDecided
from holdfast.model.standing import is_ready
from holdfast.model.told_facts import DifferenceTold, ExceptionLogged, LossTold
from holdfast.model.watch_facts import (
    FilesNearLimit,
    FileWritten,
    FolderWritten,
    HostSampled,
    KernelSaid,
    LinkSeen,
    LinksSampled,
    MemoryNearlyFull,
    MemoryNearsLimit,
    StacksSeen,
    StateChanged,
    StepsSeen,
    TaskMoves,
    TaskSampled,
    TaskSlow,
    TaskStill,
    TaskWaits,
)
from holdfast.recover.fresh import since_restart

# After a death its last lines are still being read: wait for them before accusing anybody.
AFTER_DEATH_S = 0.5
# What is seen of one moment comes in several facts: the second look follows within a second.
AFTER_WORD_S = 1.0
AFTER_LOOK_S = 0.3
AFTER_STEPS_S = 2.0
AFTER_SAMPLE_S = 20.0  # what is told of healthy tasks changes little
REST_FOR_WORK = 50  # judging takes 2 % of a core, not more, and only in trouble
FRESH = 0.3  # how much the last judgement counts in what judgements cost
FACTS_MIN = 2_000
LOOKS = (
    ActivitySeen,
    DifferenceTold,
    ExceptionLogged,
    FilesNearLimit,
    FileWritten,
    FolderWritten,
    LinkSeen,
    LossTold,
    PathMeasured,
    KernelSaid,
    MemoryNearlyFull,
    MemoryNearsLimit,
    StacksSeen,
    TaskMoves,
    TaskSlow,
    TaskStill,
    TaskWaits,
    VersionsSeen,
)
SAMPLES = (DiskMeasured, HostSampled, LinksSampled, PathProbed, StepsSeen, TaskSampled, TaskStarted)


class Judging:
    """Holds the facts of the attempt, and judges them no more often than is worth it."""

    def __init__(self, *, now: Callable[[], float], tell: Tell) -> None:
        self.facts: list[Fact] = []
        self._now = now
        self._telling = Telling(tell)
        self._states: dict[TaskId, TaskState] = {}
        self._due_s: float | None = None
        self._wait_over_s: float | None = None  # then it is judged again, whatever was seen
        self._rested_s = 0.0  # before this we do not judge again
        self._cost_s: float | None = None  # of one judgement, on average
        self._has_judged = False
        self._failed = False
        self._best_step_s: dict[TaskId | None, float] = {}
        self._facts_max = FACTS_MIN

    def take(self, facts: Iterable[Fact]) -> None:
        for fact in facts:
            self.facts.append(fact)
            self._failed = self._failed or _is_failure(fact)
            after_s = _patience_s(fact, after_failure=self._failed)
            if isinstance(fact, StepsSeen) and self._is_slow(fact):
                after_s = AFTER_STEPS_S
            if after_s is not None:
                due_s = self._now() + after_s
                self._due_s = due_s if self._due_s is None else min(self._due_s, due_s)
            if isinstance(fact, RemedyDecided) and fact.remedy == "wait":
                self._wait_over_s = fact.at_s + fact.wait_s
            if isinstance(fact, TaskExited | TaskNotStarted):
                self._due_s = fact.at_s + AFTER_DEATH_S
                self._rested_s = 0.0  # a death is told at once, whatever we have worked before
        if len(self.facts) > self._facts_max:
            self.facts = kept(self.facts)
            self._facts_max = max(FACTS_MIN, 2 * len(self.facts))

    def _is_slow(self, steps: StepsSeen) -> bool:
        """Whether its steps take much longer than they did at their best."""
        if not steps.step_s:
            return False
        best_s = min(steps.step_s, self._best_step_s.get(steps.task, steps.step_s))
        self._best_step_s[steps.task] = best_s
        return steps.step_s >= SLOWER * best_s

    def recall(self, facts: Iterable[Fact]) -> None:
        """What another supervisor saw and told before us; it is judged anew at once."""
        self.take(facts)
        self._telling.recall(self.facts, self._now())
        self._states = {
            fact.task: TaskState(fact.state, fact.says)
            for fact in self.facts
            if isinstance(fact, StateChanged) and fact.task
        }
        self._due_s = self._now()

    def is_due(self) -> bool:
        return self.due_in_s() == 0.0

    def due_in_s(self) -> float:
        """How long until there is something to judge."""
        times_s = [at_s for at_s in (self._due_s, self._wait_over_s) if at_s is not None]
        if not times_s:
            return math.inf
        return max(0.0, max(min(times_s), self._rested_s) - self._now())

    def judge_live(self, host: str) -> tuple[list[Fact], Diagnosis]:
        """Tell what is sure by now; how the tasks' states have changed goes into the journal."""
        self._due_s = None
        if self._wait_over_s is not None and self._now() >= self._wait_over_s:
            self._wait_over_s = None
        began_s = time.process_time()
        evidence, diagnosis = self._judged()
        changes = self._changes(evidence, diagnosis, host)
        where = {"at_s": self._now(), "host": host}
        changes += self._telling.hear(evidence, diagnosis, where, at_the_end=False)
        if self._telling.is_to_be_taken_back:
            self._due_s = self._now() + GONE_S
        self._rested_s = self._now() + REST_FOR_WORK * self._usual_s(time.process_time() - began_s)
        return changes, diagnosis

    def _usual_s(self, cost_s: float) -> float:
        """What a judgement costs on average; the first one, which loads all causes, not counted."""
        if not self._has_judged:
            self._has_judged = True
            return 0.0
        before_s = cost_s if self._cost_s is None else self._cost_s
        self._cost_s = (1 - FRESH) * before_s + FRESH * cost_s
        return self._cost_s

    def judge(self, host: str) -> tuple[list[Fact], Evidence, Diagnosis]:
        """The verdict on the whole attempt; what was told and does not hold is taken back."""
        evidence, diagnosis = self._judged()
        where = {"at_s": self._now(), "host": host}
        told = self._telling.hear(evidence, diagnosis, where, at_the_end=True)
        taken_back = tuple(fact for fact in told if isinstance(fact, FindingTakenBack))
        diagnosis = replace(diagnosis, taken_back=(*diagnosis.taken_back, *taken_back))
        return told, evidence, diagnosis

    def _judged(self) -> tuple[Evidence, Diagnosis]:
        evidence = Evidence(since_restart(self.facts))
        return evidence, diagnose(evidence)

    def _changes(self, evidence: Evidence, diagnosis: Diagnosis, host: str) -> list[Fact]:
        states = task_states(evidence, diagnosis.findings)
        at_s = self._now()
        changes: list[Fact] = [
            StateChanged(
                at_s=at_s,
                host=host,
                task=task,
                state=state.name,
                before=self._states[task].name if task in self._states else "",
                says=state.says,
            )
            for task, state in states.items()
            if task not in self._states or self._states[task].name != state.name
        ]
        self._states = states
        return changes


def _is_failure(fact: Fact) -> bool:
    ended_badly = isinstance(fact, TaskExited) and fact.exit_code != 0
    return ended_badly or isinstance(fact, TaskNotStarted)


def _patience_s(fact: Fact, *, after_failure: bool) -> float | None:
    """After what time a fact is worth a judgement; None: it changes nothing by itself."""
    if isinstance(fact, PathProbed) and fact.outcome != Outcome.REFUSED and not is_ready(fact):
        return AFTER_WORD_S
    if isinstance(fact, LogLine | TracebackSeen):
        return AFTER_WORD_S if after_failure else None
    if isinstance(fact, SpecRead | SpecUnreadable | EnvironmentSeen | StartBlocked):
        return AFTER_WORD_S
    runs_out = isinstance(fact, DiskMeasured) and fact.left_s >= 0
    if runs_out or isinstance(fact, (*LOOKS, ProcessSeen)):
        return AFTER_LOOK_S
    if isinstance(fact, SAMPLES):
        return AFTER_SAMPLE_S
    return None

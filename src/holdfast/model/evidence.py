"""The facts of one attempt, and the questions a cause may ask of them."""

import math
import signal
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import cached_property
from typing import TypeVar, cast

from holdfast.model.activity_facts import ActivitySeen
from holdfast.model.cluster import TaskId
from holdfast.model.facts import (
    AttemptStarted,
    Fact,
    LastWords,
    LogLine,
    PathProbed,
    ProcessSeen,
    SignalSent,
    StopAsked,
    TaskExited,
    TaskStarted,
    TracebackSeen,
)
from holdfast.model.left_words import ended_with, is_soon
from holdfast.model.pattern import Pattern
from holdfast.model.told_facts import ExceptionLeft
from holdfast.model.watch_facts import (
    LinkSeen,
    LinksSampled,
    StacksSeen,
    TaskMoves,
    TaskSampled,
    TaskSlow,
    TaskStill,
    TaskWaits,
)

FactKind = TypeVar("FactKind", bound=Fact)
Answer = TypeVar("Answer")
CHIEF = TaskId("chief", 0)
IGNORED = "Exception ignored in"  # Python's words above a traceback that ends nobody
SHELL_SIGNAL_BASE = 128
SIGNAL_MAX = 64
LAST_WORD_LENGTH = 200  # enough to know a line again, and less than last words are cut to
LOOKS = (
    *(ActivitySeen, LinkSeen, LinksSampled, ProcessSeen, StacksSeen),
    *(TaskMoves, TaskSampled, TaskSlow, TaskStill, TaskWaits),
)
ENDING = frozenset({signal.SIGINT, signal.SIGTERM, signal.SIGKILL})  # what we end tasks with


class Evidence:
    """Everything seen during the newest attempt, oldest first. Read-only."""

    def __init__(self, facts: Iterable[Fact]) -> None:
        seen = sorted(_without_last_moves(facts), key=lambda fact: fact.at_s)
        self.attempt = max((fact.attempt for fact in seen), default=1)
        facts = _once(fact for fact in seen if fact.attempt == self.attempt)
        self.facts = tuple(_while_it_ran(tuple(facts)))
        self._by_kind: dict[type[Fact], list[Fact]] = {}
        self._by_task: dict[tuple[type[Fact], TaskId | None], list[Fact]] = {}
        for fact in self.facts:
            self._by_kind.setdefault(type(fact), []).append(fact)
            self._by_task.setdefault((type(fact), fact.task), []).append(fact)
        self.tasks = self._all_tasks()
        self._ending_s = _ending_s(self.facts)
        self._answers: dict[object, object] = {}
        self._failures = tuple(found for task in self.tasks if (found := self.failure_of(task)))

    def of(self, kind: type[FactKind], task: TaskId | None = None) -> Iterator[FactKind]:
        """All facts of a kind; with `task`, only those about it."""
        if task is not None:
            return self._about(kind, task)
        return iter(cast("list[FactKind]", self._by_kind.get(kind, [])))

    def _about(self, kind: type[FactKind], task: TaskId | None) -> Iterator[FactKind]:
        """The facts of a kind about one task; None means here: about no task."""
        return iter(cast("list[FactKind]", self._by_task.get((kind, task), [])))

    def lines(self, pattern: Pattern, task: TaskId | None = None) -> Iterator[LogLine]:
        return (line for line in self.of(LogLine, task) if pattern.search(line.text))

    def _all_tasks(self) -> tuple[TaskId, ...]:
        """Every task of the job: those announced, and those only heard of."""
        announced = {
            TaskId.parse(name) for start in self.of(AttemptStarted) for name in start.tasks
        }
        looked_at = {look.target for look in self.of(PathProbed) if look.target}
        about = {fact.task for fact in self.facts if fact.task}
        return tuple(sorted(announced | looked_at | about))

    def exit_of(self, task: TaskId | None) -> TaskExited | None:
        return next(self._about(TaskExited, task), None)

    def pids_of(self, task: TaskId | None) -> set[int]:
        return {fact.pid for fact in self._about(TaskStarted, task)}

    def began_unix_s(self) -> float:
        return next((fact.began_unix_s for fact in self.of(AttemptStarted)), 0.0)

    def chief_finished(self) -> bool:
        """A chief that ended well has led the training to its end, in spite of what failed."""
        exited = self.exit_of(CHIEF)
        return exited is not None and exited.exit_code == 0

    def ended_by_us(self, exited: TaskExited) -> bool:
        """Whether the task was told to go, by us or by whoever asked us to stop.

        Signals that were only passed on are not meant to end anybody.
        """
        sent = (fact for fact in self.of(SignalSent, exited.task) if fact.signal in ENDING)
        return any(fact.at_s <= exited.at_s for fact in (*sent, *self.of(StopAsked)))

    def ending_s(self) -> float:
        """When the tasks began to be ended: what is seen later says nothing of the job."""
        return self._ending_s

    def once(self, ask: "Callable[[Evidence], Answer]") -> Answer:
        """What a question comes to that many ask: these facts never change."""
        if ask not in self._answers:
            self._answers[ask] = ask(self)
        return cast("Answer", self._answers[ask])

    @cached_property
    def while_running(self) -> "Evidence":
        """What was known when the tasks began to be ended: all of it, if they were not."""
        until_s = self.ending_s()
        if until_s == math.inf:
            return self
        return Evidence(fact for fact in self.facts if fact.at_s <= until_s and not _ends(fact))

    def ended_by_itself(self, task: TaskId | None) -> bool:
        exited = self.exit_of(task)
        return exited is not None and not self.ended_by_us(exited)

    def failure_of(self, task: TaskId | None) -> TaskExited | None:
        """How a task ended, if it ended badly and by itself."""
        exited = self.exit_of(task)
        if exited is None or exited.exit_code == 0 or exited.unseen or self.ended_by_us(exited):
            return None
        return exited

    def unseen_ends(self) -> tuple[TaskId, ...]:
        """The tasks that are gone by themselves, and nobody knows how."""
        gone = ((task, self.exit_of(task)) for task in self.tasks)
        return tuple(
            task
            for task, exited in gone
            if exited is not None and exited.unseen and not self.ended_by_us(exited)
        )

    def failures(self) -> Iterator[TaskExited]:
        """Every task that ended badly and by itself, in the order of their names."""
        return iter(self._failures)

    def ended_over(self, failure: TaskExited, *patterns: Pattern) -> bool:
        """Whether a task's end speaks of this: what it coped with before did not end it."""
        seen = self.last_traceback(failure.task)
        said = [seen.message] if seen else self._last_lines(failure.task)
        return any(pattern.search(text) for text in said for pattern in patterns)

    def _last_lines(self, task: TaskId | None) -> list[str]:
        """Its last words; all its telling lines where nobody kept any."""
        words = [line for fact in self.of(LastWords, task) for line in fact.lines]
        return words or [line.text for line in self.of(LogLine, task)]

    def last_traceback(self, task: TaskId | None) -> TracebackSeen | None:
        """The traceback that ended a task, if one did: not one that Python ignored on the way."""
        ignored = {
            (line.stream, line.line + 1)
            for line in self._about(LogLine, task)
            if line.text.startswith(IGNORED)
        }
        found = (
            seen
            for seen in self._about(TracebackSeen, task)
            if (seen.stream, seen.line) not in ignored
        )
        logged = max(found, key=lambda fact: (fact.stream == "err", fact.offset), default=None)
        left = tuple(self._about(ExceptionLeft, task))
        seen = ended_with(left, logged, pids=self.pids_of(task), exited=self.exit_of(task))
        # Of a thread, a child process or a guard it is known that the task could go on after it.
        coped = isinstance(seen, ExceptionLeft) and not self.is_last_word(seen)
        return None if coped else seen

    def ended_itself_with(self, seen: TracebackSeen) -> bool:
        """Whether a task's own process says that this is what it ended with."""
        if not isinstance(seen, ExceptionLeft):
            return False
        return seen.ended_its_process and seen.pid in self.pids_of(seen.task)

    def is_last_word(self, seen: TracebackSeen) -> bool:
        """Whether a task wrote nothing more to that stream after a traceback, or says so itself."""
        exited = self.exit_of(seen.task)
        if self.ended_itself_with(seen) or (exited and is_soon(seen, exited)):
            return True
        end = (seen.message or seen.exception).rpartition("\n")[2][:LAST_WORD_LENGTH]
        return any(
            words.stream == seen.stream and end in words.lines[-1]
            for words in self.of(LastWords, seen.task)
        )


def death_signal(exited: TaskExited) -> int | None:
    """The signal a task died of, also when a shell around it reports 128 + N."""
    if exited.signal is not None:
        return exited.signal
    code = exited.exit_code or 0
    if SHELL_SIGNAL_BASE < code <= SHELL_SIGNAL_BASE + SIGNAL_MAX:
        return code - SHELL_SIGNAL_BASE
    return None


def _ending_s(facts: Iterable[Fact]) -> float:
    return min((fact.at_s for fact in facts if _ends(fact)), default=math.inf)


def _ends(fact: Fact) -> bool:
    sent = isinstance(fact, SignalSent) and fact.signal in ENDING
    return sent or isinstance(fact, StopAsked)


def _without_last_moves(facts: Iterable[Fact]) -> Iterator[Fact]:
    """Without moves that were written down after the tasks of that attempt were asked to end.

    A round of looks is dated by its beginning: what it saw last may be how they ended.
    """
    ending: set[int] = set()
    for fact in facts:
        if _ends(fact):
            ending.add(fact.attempt)
        moves = isinstance(fact, TaskMoves) or (isinstance(fact, TaskWaits) and not fact.waits_s)
        if not (moves and fact.attempt in ending):
            yield fact


def _while_it_ran(facts: tuple[Fact, ...]) -> Iterator[Fact]:
    """Without looks at tasks that were being ended: what holds is what held until then."""
    until_s = _ending_s(facts)
    return (fact for fact in facts if fact.at_s <= until_s or not isinstance(fact, LOOKS))


def _once(facts: Iterable[Fact]) -> Iterator[Fact]:
    """A line read twice, once live and once from the end, is one fact: the counted one stays."""
    kept: dict[object, Fact] = {}
    for fact in facts:
        key: object = id(fact)
        if isinstance(fact, LogLine | TracebackSeen) and (fact.offset or fact.line):
            place = fact.offset or -fact.line
            key = (type(fact), fact.task, fact.source, fact.stream, place)
            earlier = kept.get(key)
            if isinstance(earlier, LogLine | TracebackSeen):
                if earlier.line >= fact.line:
                    continue
                fact = replace(fact, at_s=earlier.at_s)  # noqa: PLW2901 - first read then
        kept[key] = fact
    return iter(kept.values())

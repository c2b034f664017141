"""What a journal says already: whoever takes a run over tells none of it a second time."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from holdfast.model.cluster import TaskId
from holdfast.model.facts import (
    Fact,
    LastWords,
    LimitSeen,
    LogLine,
    OutputReleased,
    ProbeBlind,
    TaskExited,
    TaskNotStarted,
    TaskStarted,
    TracebackSeen,
)
from holdfast.model.told_facts import ExceptionLeft


@dataclass(slots=True)
class Past:
    begun: Counter[TaskId] = field(default_factory=Counter)  # how often started, or refused
    exited: Counter[TaskId] = field(default_factory=Counter)
    explained: set[TaskId] = field(default_factory=set)  # whose traces were read
    left: set[str] = field(default_factory=set)  # what programs wrote down, and was read
    blind: set[str] = field(default_factory=set)  # probes that are known to see nothing
    lines: dict[object, int] = field(default_factory=dict)  # which line is where
    released: dict[str, int] = field(default_factory=dict)  # `worker:0 out` -> first kept byte

    def is_new(self, fact: Fact) -> bool:
        """Whether a line that the reader tells was not told before; all else is new."""
        if not isinstance(fact, LogLine | TracebackSeen):
            return True
        return self.lines.get(_place(fact), -1) < fact.line


def past_of(facts: Iterable[Fact]) -> Past:
    past = Past()
    for fact in facts:
        match fact:
            case TaskStarted(task=TaskId() as task) | TaskNotStarted(task=TaskId() as task):
                past.begun[task] += 1
                past.explained.discard(task)
            case TaskExited(task=TaskId() as task):
                past.exited[task] += 1
            case LastWords(task=TaskId() as task) | LimitSeen(task=TaskId() as task):
                past.explained.add(task)
            case ProbeBlind():
                past.blind.add(fact.probe)
            case ExceptionLeft():
                past.left.add(fact.source)
            case LogLine() | TracebackSeen():
                place = _place(fact)
                past.lines[place] = max(fact.line, past.lines.get(place, -1))
            case OutputReleased():
                past.released[f"{fact.task} {fact.stream}"] = fact.until
    return past


def _place(fact: LogLine | TracebackSeen) -> object:
    return (type(fact), fact.task, fact.stream, fact.offset)

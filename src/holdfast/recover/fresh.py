"""What is still to be explained, once tasks of an attempt were started again. Pure."""

from collections.abc import Iterable, Iterator, Mapping

from holdfast.model.cluster import TaskId
from holdfast.model.evidence import LOOKS
from holdfast.model.facts import (
    CgroupKilledForMemory,
    Fact,
    KernelKilledForMemory,
    LastWords,
    LogLine,
    OutputEnded,
    PathProbed,
    SignalSent,
    TaskExited,
    TaskNotStarted,
    TaskStarted,
    TracebackSeen,
)
from holdfast.model.watch_facts import LinkSeen

# What tells of an end: of one that was answered by a restart, it would accuse again.
OF_AN_END = (
    CgroupKilledForMemory,
    KernelKilledForMemory,
    LastWords,
    LogLine,
    OutputEnded,
    TaskExited,
    TaskNotStarted,
    TracebackSeen,
)


def since_restart(facts: Iterable[Fact]) -> Iterator[Fact]:
    """All facts but those of ends that were answered by a restart, and of who suffered by them.

    Of a task that ended and stays ended, all is kept since it was started last. What was seen of
    the process before says nothing of the one that is there now.
    """
    known = tuple(facts)
    attempt = max((fact.attempt for fact in known), default=1)
    gone: set[TaskId | None] = set()
    again_s: dict[TaskId | None, float] = {}
    for fact in known:
        if fact.attempt == attempt and isinstance(fact, TaskExited | TaskNotStarted):
            gone.add(fact.task)
        elif fact.attempt == attempt and isinstance(fact, TaskStarted) and fact.task in gone:
            gone.discard(fact.task)
            again_s[fact.task] = fact.at_s
    last_s = max(again_s.values(), default=-1.0)
    for fact in known:
        until_s = again_s.get(fact.task, -1.0) if fact.task in gone else last_s
        is_old = isinstance(fact, OF_AN_END) and fact.at_s <= until_s
        if not (fact.attempt == attempt and (is_old or _of_the_one_before(fact, again_s))):
            yield fact


def _of_the_one_before(fact: Fact, again_s: Mapping[TaskId | None, float]) -> bool:
    """Whether it tells of a process whose task was started again since then."""
    whom: tuple[TaskId | None, ...] = (fact.task,)
    if isinstance(fact, PathProbed):
        whom = (fact.target,)
    elif isinstance(fact, LinkSeen):
        whom = (fact.task, fact.peer)
    told = isinstance(fact, (PathProbed, SignalSent, *LOOKS))
    return told and any(fact.at_s <= again_s.get(task, -1.0) for task in whom)

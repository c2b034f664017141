"""Whether a start-up stands still: who waits, and for whom. Pure."""

import math
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field, replace

from holdfast.model.cluster import TaskId
from holdfast.model.facts import (
    EnvironmentSeen,
    Fact,
    LogLine,
    PathProbed,
    SpecRead,
    SpecUnreadable,
    TaskExited,
    TaskIdle,
)
from holdfast.model.named_tasks import tasks_in
from holdfast.model.path import Outcome
from holdfast.model.standing import is_ready
from holdfast.model.waiting import CONNECTED, REPEATED_S, STILL_WAITING, STRAGGLER
from holdfast.model.watch_facts import StacksSeen, StepsSeen
from holdfast.model.words import listed, wait
from holdfast.recover.start_standing import Calls, with_look, without_call

# That a task is idle is repeated every few seconds. To give up a start-up takes fresh news;
# to tell who waits, such as one slow look at a dead host may let grow old.
IDLE_NEWS_S, WAITING_NEWS_S = 7.0, 15.0
WAITING_IDLE_S = 4.0  # nothing done for this long is worth a word
OPENING_S = 2.0
STATES = {
    Outcome.REFUSED: "has not opened its port yet",
    Outcome.FILTERED: "gives no answer at all",
    Outcome.UNREACHABLE: "cannot be reached",
    Outcome.STALLED: "accepts connections and does not answer",
    Outcome.UNRESOLVED: "has a name that does not resolve",
    Outcome.RESET: "closes every connection",
    Outcome.NOT_GRPC: "is not who answers at its address",
    Outcome.NOT_TENSORFLOW: "is not who answers at its address",
    Outcome.ANSWERED: "is not who answers at its address",
}


@dataclass(frozen=True, slots=True)
class Idle:
    heard_s: float
    idle_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """What is known of the start of a cluster; ready is who answered under its own name once."""

    looks: Mapping[TaskId, PathProbed] = field(default_factory=dict)
    since_s: Mapping[TaskId, float] = field(default_factory=dict)  # of the last look's outcome
    ready: frozenset[TaskId] = frozenset()
    idle: Mapping[TaskId, Idle] = field(default_factory=dict)
    ended: frozenset[TaskId] = frozenset()  # well or badly: it comes no more
    lost: frozenset[TaskId] = frozenset()  # whom another cannot find by its own definition
    apart: frozenset[TaskId] = frozenset()  # who has a definition or a proxy of its own
    called: Mapping[TaskId, float] = field(default_factory=dict)  # whom logs miss, until when
    steps: Mapping[TaskId, int] = field(default_factory=dict)
    trains: bool = False  # somebody's steps have grown: what stands still later is no start
    calls: Calls = field(default_factory=dict)  # who was seen in a call of its start, or serves


@dataclass(frozen=True, slots=True)
class Standstill:
    missing: tuple[TaskId, ...]
    waiting: tuple[TaskId, ...]
    says: str


def notice(start: Start, fact: Fact) -> Start:
    match fact:
        case PathProbed(target=TaskId() as task, task=None) if task not in start.ready:
            before = start.looks.get(task)
            same = before is not None and before.outcome == fact.outcome
            since_s = start.since_s if same else {**start.since_s, task: fact.at_s}
            ready = start.ready | {task} if is_ready(fact) else start.ready
            looks = {**start.looks, task: fact}
            return replace(start, looks=looks, since_s=since_s, ready=ready)
        case TaskExited(task=TaskId() as task):
            return replace(start, ended=start.ended | {task})
        case SpecRead(given=False, task=TaskId() as task) | SpecUnreadable(task=TaskId() as task):
            return replace(start, apart=start.apart | {task})
        case EnvironmentSeen(task=TaskId() as task):
            return replace(start, apart=start.apart | {task})
        case LogLine():
            return _hear(start, fact)
        case PathProbed(target=TaskId() as target, task=TaskId()):
            found = fact.outcome == Outcome.ANSWERED
            return replace(start, lost=start.lost - {target} if found else start.lost | {target})
        case StacksSeen(task=TaskId() as task):
            return replace(start, calls=with_look(start.calls, task, fact))
        case TaskIdle(task=TaskId() as task):
            return replace(start, idle={**start.idle, task: Idle(fact.at_s, fact.idle_s)})
        case StepsSeen(task=TaskId() as task):
            # One alone may be the step at which it was saved.
            grows = fact.step_s > 0 or fact.step > start.steps.get(task, fact.step)
            steps = {**start.steps, task: fact.step}
            calls = without_call(start.calls, task) if grows else start.calls
            return replace(start, steps=steps, trains=start.trains or grows, calls=calls)
    return start


def _hear(start: Start, line: LogLine) -> Start:
    named = frozenset(tasks_in(line.text)) - {line.task}
    if CONNECTED.search(line.text):
        left = {task: until_s for task, until_s in start.called.items() if task not in named}
        return replace(start, called=left)
    until_s = math.inf if STRAGGLER.search(line.text) else line.at_s + REPEATED_S
    if STRAGGLER.search(line.text) or STILL_WAITING.search(line.text):
        return replace(start, called={**start.called, **dict.fromkeys(named, until_s)})
    return start


def standstill(
    start: Start, members: Iterable[TaskId], *, at_s: float, idle_s: float, news_s: float
) -> Standstill | None:
    """Those who have nothing to do while somebody is missing; None when it goes on.

    A cluster of which nobody has answered yet may be no TensorFlow cluster at all.
    """
    if start.trains:
        return None
    known = tuple(members)
    missing = _missing(start, known, at_s)
    waiting = tuple(task for task in known if task not in missing and task.trains)
    if not missing or not waiting or not start.ready:
        return None
    if not all(is_idle(start, task, at_s=at_s, idle_s=idle_s, news_s=news_s) for task in waiting):
        return None
    return Standstill(missing, waiting, _says(start, missing, waiting))


def nobody_comes(
    start: Start, still: Standstill, ended: Container[TaskId], *, at_s: float, idle_s: float
) -> bool:
    """A missing task that still works, as one that prepares its input does, gets more time."""
    return all(
        task in ended or is_idle(start, task, at_s=at_s, idle_s=idle_s, news_s=IDLE_NEWS_S)
        for task in still.missing
    )


def is_idle(start: Start, task: TaskId, *, at_s: float, idle_s: float, news_s: float) -> bool:
    idle = start.idle.get(task)
    return idle is not None and at_s - idle.heard_s < news_s and idle.idle_s >= idle_s


def _missing(start: Start, members: tuple[TaskId, ...], at_s: float) -> tuple[TaskId, ...]:
    """Who was looked for and has not answered.

    A chief that connects to its cluster does not answer until it has found everybody: while
    somebody else is missing, or has failed, it waits.
    """
    known = start.looks.keys() | start.ended
    absent = [task for task in members if task in known and task not in start.ready]
    others = [task for task in absent if not _is_connecting(start, task)]
    if start.ended:
        absent = others
    absent = [task for task in others or absent if not _is_opening(start, task)]
    # All answer us, and some still wait: for whom their logs call, or who was told otherwise.
    called = {task for task, until_s in start.called.items() if at_s <= until_s}
    absent = absent or [task for task in members if task in called | start.lost]
    return tuple(absent or (task for task in members if task in start.apart))


def _is_connecting(start: Start, task: TaskId) -> bool:
    stalled = task in start.looks and start.looks[task].outcome == Outcome.STALLED
    return stalled and task.role == "chief" and task not in start.ended


def _is_opening(start: Start, task: TaskId) -> bool:
    """Between its first connection and its first answer a server needs a moment."""
    if task in start.ended:
        return False
    look = start.looks[task]
    stalled = look.outcome == Outcome.STALLED
    return stalled and look.at_s - start.since_s[task] < OPENING_S


def _says(start: Start, missing: tuple[TaskId, ...], waiting: tuple[TaskId, ...]) -> str:
    first = missing[0]
    also = f"; so for {listed(missing[1:])}" if missing[1:] else ""
    who = f"{listed(waiting)} {wait(len(waiting))} for {first}"
    if first in start.ended:
        return f"{who}, which has ended{also}"
    if first in start.ready and first in start.lost:
        return f"{who}, which cannot be found where their definitions have it{also}"
    if first in start.ready:
        own = first in start.apart
        what = "has a definition or a proxy of its own" if own else "has not joined"
        return f"{who}, which answers, but {what}{also}"
    look = start.looks[first]
    state = STATES.get(Outcome(look.outcome), "has not answered yet")
    return f"{who}, which {state} ({look.address}){also}"

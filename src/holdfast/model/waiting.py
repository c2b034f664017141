"""Who waits for whom, read from what tasks say, what they see, and what they are trying."""

import math
from collections.abc import Iterator

from holdfast.model.cluster import TaskId
from holdfast.model.evidence import Evidence
from holdfast.model.facts import (
    Attached,
    PeersListed,
    ProcessSeen,
    SocketsSeen,
    StartBlocked,
)
from holdfast.model.link_waits import link_waits
from holdfast.model.named_tasks import tasks_in
from holdfast.model.path import Outcome
from holdfast.model.pattern import Pattern
from holdfast.model.stack_waits import stack_waits
from holdfast.model.standing import missing, not_found_by, standings
from holdfast.model.standstill import standstills
from holdfast.model.start_calls import StartCall, standing_at_start
from holdfast.model.wait import Wait

STILL_WAITING = Pattern(r"CreateSession still waiting for response from worker:")
# The names come on lines of their own, below `Example stragglers:`.
STRAGGLER = Pattern(r"^/job:[a-z]+/replica:\d+/task:\d+\s*$")
CONNECTED = Pattern(r"has connected to coordination service")
HEARD = (STILL_WAITING, STRAGGLER, CONNECTED)
# What tasks write, again and again, while they wait for others at their start.
WAITING_WORDS = (
    STILL_WAITING,
    Pattern(r"Waiting for model to be ready"),
    Pattern(r"master\.cc:\d+\] Scanning workers for devices"),
)
# A task that still waits says so every 10 s; one that has stopped saying it waits no more.
REPEATED_S = 20.0
LEADER = TaskId("ps", 0)
WORKING_SHARE = 0.03  # of a core; a server that waits uses a tenth of that


def waits_in(evidence: Evidence) -> tuple[Wait, ...]:
    """Each wait once, with its first proof. What a later look has answered is over."""
    return evidence.once(_waits_in)


def _waits_in(evidence: Evidence) -> tuple[Wait, ...]:
    found: dict[tuple[TaskId, TaskId], Wait] = {}
    for wait in (
        *_said(evidence),
        *_tried(evidence),
        *_unanswered(evidence),
        *_blocked(evidence),
        *_connecting(evidence),
        *_incomplete(evidence),
        *_joining(evidence),
        *link_waits(evidence.while_running),
        *stack_waits(evidence.while_running),
        *_standing(evidence.while_running),
    ):
        if wait.waiter != wait.awaited:
            found.setdefault((wait.waiter, wait.awaited), wait)
    return tuple(found.values())


def _said(evidence: Evidence) -> Iterator[Wait]:
    """What logs say of others, unless a later sign shows that these have come."""
    come_s = _came(evidence)
    until_s = _until_s(evidence)
    for pattern, repeated_s in ((STILL_WAITING, REPEATED_S), (STRAGGLER, math.inf)):
        for line in evidence.lines(pattern):
            for awaited in tasks_in(line.text):
                over = come_s.get(awaited, -math.inf) >= line.at_s
                over = over or until_s - line.at_s > repeated_s
                if line.task and awaited in evidence.tasks and not over:
                    yield Wait(waiter=line.task, awaited=awaited, why="its log says so", fact=line)


def _came(evidence: Evidence) -> dict[TaskId, float]:
    """When each task was last known to have joined."""
    come_s = {
        task: standing.look.at_s
        for task, standing in standings(evidence).items()
        if standing.is_ready
    }
    for line in evidence.lines(CONNECTED):
        for task in tasks_in(line.text):
            come_s[task] = max(line.at_s, come_s.get(task, line.at_s))
    return come_s


def _until_s(evidence: Evidence) -> float:
    """Until when tasks speak for themselves: after that they are being ended."""
    ends = (
        *(fact.at_s for fact in evidence.of(StartBlocked)),
        *(fact.at_s for fact in evidence.failures()),
        evidence.ending_s(),
        max((fact.at_s for fact in evidence.facts), default=0.0),
    )
    return min(ends)


def _tried(evidence: Evidence) -> Iterator[Wait]:
    """A connection that nobody answers, when a task's sockets were last seen."""
    at = {standing.look.address: task for task, standing in standings(evidence).items()}
    last = {seen.task: seen for seen in evidence.of(SocketsSeen)}
    for seen in last.values():
        for address in seen.trying:
            if seen.task and address in at:
                why = f"its connection to {address} gets no answer"
                yield Wait(waiter=seen.task, awaited=at[address], why=why, fact=seen)


def _unanswered(evidence: Evidence) -> Iterator[Wait]:
    """A task that was asked for its peers gives no answer while one of them is missing."""
    absent = missing(evidence)
    for listed in evidence.of(PeersListed):
        if listed.task is None or listed.answered:
            continue
        for awaited in absent:
            why = "asked for its peers, it still looks for them"
            yield Wait(waiter=listed.task, awaited=awaited, why=why, fact=listed)


def _blocked(evidence: Evidence) -> Iterator[Wait]:
    for blocked in evidence.of(StartBlocked):
        for awaited in map(TaskId.parse, blocked.missing):
            for waiter in map(TaskId.parse, blocked.waiting):
                why = "it has had nothing to do since its start"
                yield Wait(waiter=waiter, awaited=awaited, why=why, fact=blocked)


def _connecting(evidence: Evidence) -> Iterator[Wait]:
    """A chief that accepts connections and does not answer is looking for its cluster."""
    absent = missing(evidence)
    gone = [failure.task for failure in evidence.failures() if failure.task]
    for task, standing in standings(evidence).items():
        if standing.look.outcome == Outcome.STALLED and task not in absent:
            for awaited in (*absent, *gone, *not_found_by(task, evidence)):
                why = "its server does not answer before it has found everybody"
                yield Wait(waiter=task, awaited=awaited, why=why, fact=standing.look)


def _incomplete(evidence: Evidence) -> Iterator[Wait]:
    """Seen from outside, those who are there wait for who is not, unless somebody trains."""
    asked = any(evidence.of(Attached))
    if not asked or any(is_working(evidence, one) for one in evidence.tasks):
        return
    absent = missing(evidence)
    for task, standing in standings(evidence).items():
        if standing.is_ready and task.trains:
            for awaited in absent:
                why = "a cluster begins when all of its tasks are there"
                yield Wait(waiter=task, awaited=awaited, why=why, fact=standing.look)


def _joining(evidence: Evidence) -> Iterator[Wait]:
    """Where a cluster has parameter servers, TensorFlow takes ps:0 for the leader to join at."""
    for one in standing_at_start(evidence):
        if one.call is StartCall.JOINS and LEADER in evidence.tasks:
            why = f"it waits {one.where} to be let in"
            yield Wait(waiter=one.task, awaited=LEADER, why=why, fact=one.look)


def _standing(evidence: Evidence) -> Iterator[Wait]:
    """Whoever waits inside of a step waits for those that are elsewhere."""
    for standstill in evidence.once(standstills):
        for one in standstill.waiting:
            for ahead in standstill.ahead:
                why = f"it stands in a step, and {ahead.task} does not: {ahead.words}"
                fact = one.look or one.facts[0]
                yield Wait(waiter=one.task, awaited=ahead.task, why=why, fact=fact)


def is_working(evidence: Evidence, task: TaskId) -> bool:
    """Whether a task's process used its cores between two looks."""
    seen = [fact for fact in evidence.of(ProcessSeen, task) if fact.loaded_tensorflow]
    if len(seen) < 2:  # noqa: PLR2004 - one look says nothing
        return False
    first, last = seen[0], seen[-1]
    elapsed_s = last.at_s - first.at_s
    return first.pid == last.pid and last.cpu_s - first.cpu_s > WORKING_SHARE * elapsed_s

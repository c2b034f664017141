"""A job's life as a pure machine: facts go in, orders come out. The coordinator obeys them."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from holdfast.model.cluster import TaskId
from holdfast.model.facts import (
    Fact,
    ProcessSeen,
    SignalAsked,
    SignalSent,
    StartBlocked,
    StopAsked,
    TaskExited,
    TaskIdle,
    TaskNotStarted,
    TaskStarted,
)
from holdfast.model.orders import (
    EndAttempt,
    Order,
    SaveStacks,
    SendSignal,
    TellStart,
    WatchIdle,
)
from holdfast.model.recovery_facts import RemedyDecided
from holdfast.model.start_calls import BLOCKED_S
from holdfast.model.watch_facts import StacksSeen
from holdfast.model.words import listed
from holdfast.recover.history import ENDS_ATTEMPT
from holdfast.recover.restarting import Restarts, start_again, with_decided
from holdfast.recover.start_standing import are_fresh, standing_tasks
from holdfast.recover.starting import (
    IDLE_NEWS_S,
    WAITING_IDLE_S,
    WAITING_NEWS_S,
    Standstill,
    Start,
    nobody_comes,
    notice,
    standstill,
)
from holdfast.recover.stopping import SIGCONT, SIGKILL, SIGTERM, Asked, asks_with, due_signals
from holdfast.recover.strategy import dooms

# How long the others may speak after a failure that dooms the job: a mirrored worker learns
# of a dead peer by heartbeat after 7.6 to 9.5 s, and its words tell who was missed.
AFTERMATH_S = 15.0
# Servers without a chief have nothing to do at once; who waits at start-up may only be slow.
SERVER_IDLE_S, STUCK_IDLE_S = 5.0, 20.0
# A worker that ends badly so soon after its start never joined: others may wait for it for ever.
START_UP_S = 60.0
# An evaluator may still be at its last evaluation when the training is over.
EVALUATION_S_MAX = 600.0
# What a task was doing must be known before we end it for what it did; but it must end.
SAVE_S_MAX, SAVED_S = 2.0, 30.0


class Phase(StrEnum):
    TRAINING = "training"
    AFTERMATH = "aftermath"
    STOPPING = "stopping"
    ENDED = "ended"


@dataclass(frozen=True, slots=True, kw_only=True)
class Life:
    """Where an attempt stands. Only facts change it."""

    tasks: tuple[TaskId, ...]
    grace_s: float
    phase: Phase = Phase.TRAINING
    ended: Mapping[TaskId, bool] = field(default_factory=dict)  # whether each ended well
    started_s: Mapping[TaskId, float] = field(default_factory=dict)
    never_joined: TaskId | None = None  # a worker that failed while it was starting
    idle_s: Mapping[TaskId, float] = field(default_factory=dict)  # when we last heard so
    watched: Mapping[TaskId, float] = field(default_factory=dict)  # for how long an idleness
    asked: Mapping[TaskId, Asked] = field(default_factory=dict)
    first_signal: int = SIGTERM
    preempt_signal: int = SIGTERM  # what asks who trains to save and end
    why: str = ""
    since_s: float = 0.0  # when this phase began
    trained_s: float | None = None  # when chief and workers were done
    start: Start = field(default_factory=Start)
    start_deadline_s: float = math.inf
    told_start: tuple[TaskId, ...] = ()  # who was missing when we last told
    looked_s: float = -SAVED_S  # when we last asked for stacks beyond that deadline
    stuck: bool = False  # whether we end it because nothing goes on: then stacks matter
    stacks_s: Mapping[TaskId, float] = field(default_factory=dict)  # when they were last seen
    saving_s: Mapping[TaskId, float] = field(default_factory=dict)  # since when we wait for them
    restarts: Restarts = field(default_factory=dict)  # decided, and not done yet
    held: frozenset[TaskId] = frozenset()  # stopped: they hear nothing until they go on

    @property
    def running(self) -> tuple[TaskId, ...]:
        return tuple(task for task in self.tasks if task not in self.ended)


def advance(life: Life, fact: Fact) -> tuple[Life, tuple[Order, ...]]:
    """The next state, and what must now be done."""
    if life.phase is Phase.ENDED:
        return life, ()
    if isinstance(fact, SignalAsked):
        return life, _pass_on(life, fact)
    life = _notice(life, fact)
    if life.phase is not Phase.STOPPING:
        life = _next_phase(life, fact.at_s)
    if not life.running:
        return replace(life, phase=Phase.ENDED), (EndAttempt(why=life.why),)
    if life.phase is Phase.STOPPING:
        return _stop(life, fact.at_s)
    life, told = _watch_start(life, fact.at_s)
    life, orders = _watch_idle(life)
    life, again = _restart(life, fact)
    return life, (*told, *orders, *again)


def _pass_on(life: Life, asked: SignalAsked) -> tuple[Order, ...]:
    why = f"passed on from {asked.by}"
    return tuple(SendSignal(task=task, signal=asked.signal, why=why) for task in life.running)


def _notice(life: Life, fact: Fact) -> Life:
    life = replace(life, start=notice(life.start, fact), restarts=with_decided(life.restarts, fact))
    match fact:
        case TaskStarted(task=TaskId() as task):
            return _started(life, task, fact.at_s)
        case TaskExited(task=TaskId() as task):
            return _exited(life, task, fact)
        case TaskNotStarted(task=TaskId() as task):
            life = replace(life, ended={**life.ended, task: False})
            return _stopping(life, fact.at_s, SIGTERM, f"{task} could not be started")
        case TaskIdle(task=TaskId() as task, timers=False):
            return replace(life, idle_s={**life.idle_s, task: fact.at_s})
        case SignalSent(task=TaskId() as task):
            return _obeyed(life, task, fact)
        case ProcessSeen(task=TaskId() as task):
            others = life.held - {task}
            return replace(life, held=others | {task} if fact.state == "T" else others)
        case StacksSeen(task=TaskId() as task):
            return replace(life, stacks_s={**life.stacks_s, task: fact.at_s})
    return _asked_to_end(life, fact)


def _asked_to_end(life: Life, fact: Fact) -> Life:
    """Whether everybody is to be ended from now on: by a decision, a deadline or a person."""
    match fact:
        case RemedyDecided() if fact.remedy in ENDS_ATTEMPT and not fact.dry_run:
            return _stopping(life, fact.at_s, SIGTERM, fact.reason)
        case StartBlocked():
            why = f"the cluster was not up after {fact.deadline_s:g} s"
            return _stopping(life, fact.at_s, SIGTERM, why, stuck=True)
        case StopAsked():
            if life.phase is Phase.STOPPING:
                return replace(life, grace_s=0.0) if fact.now else life
            life = replace(life, grace_s=0.0 if fact.now else life.grace_s)
            first = asks_with(fact.signal, preempt_signal=life.preempt_signal)
            return _stopping(life, fact.at_s, first, f"stopped by {fact.by}")
    return life


def _exited(life: Life, task: TaskId, exited: TaskExited) -> Life:
    """Of whom nobody knows how it ended, nobody can say that the others need it."""
    well = exited.exit_code == 0 or exited.unseen
    life = replace(life, ended={**life.ended, task: well})
    young = exited.at_s - life.started_s.get(task, -START_UP_S) < START_UP_S
    failed = not well and task.role == "worker" and task not in life.asked
    return replace(life, never_joined=task) if young and failed else life


def _started(life: Life, task: TaskId, at_s: float) -> Life:
    """Whoever was asked to end before it had started has not heard it: it is asked again."""
    if task in life.ended:
        life = _is_back(life, task)
    elif task in life.started_s:
        return life
    asked = {other: signal for other, signal in life.asked.items() if other != task}
    return replace(life, started_s={**life.started_s, task: at_s}, asked=asked)


def _is_back(life: Life, task: TaskId) -> Life:
    """It has ended, and was started again: it is watched as if it had never been there."""
    return replace(
        life,
        ended={other: well for other, well in life.ended.items() if other != task},
        restarts={other: again for other, again in life.restarts.items() if other != task},
        watched={other: idle_s for other, idle_s in life.watched.items() if other != task},
        idle_s={other: heard_s for other, heard_s in life.idle_s.items() if other != task},
        never_joined=None if life.never_joined == task else life.never_joined,
        held=life.held - {task},
    )


def _obeyed(life: Life, task: TaskId, sent: SignalSent) -> Life:
    """The agent's word that it obeyed: from here the grace counts. Else it only passed one on."""
    asked = life.asked.get(task)
    if asked is None or asked.signal != sent.signal:
        return life
    return replace(life, asked={**life.asked, task: Asked(sent.signal, sent.at_s)})


def _next_phase(life: Life, at_s: float) -> Life:
    trainers = [task for task in life.running if task.trains]
    if life.phase is Phase.TRAINING and _doomed(life):
        life = replace(life, phase=Phase.AFTERMATH, since_s=at_s, why="a task failed")
    if not trainers and life.trained_s is None:
        life = replace(life, trained_s=at_s)
    if life.trained_s is not None and _evaluated(life, at_s, waited_s=at_s - life.trained_s):
        return _stopping(life, at_s, SIGTERM, life.why or "the training is over")
    if life.phase is Phase.AFTERMATH and at_s - life.since_s >= AFTERMATH_S:
        why = "a task failed, and the rest waits for it"
        return _stopping(life, at_s, SIGTERM, why, stuck=True)
    if _chief_ended(life) and _all_idle(life, trainers, at_s):
        return _stopping(life, at_s, SIGTERM, "the chief has ended and the workers are idle")
    if life.never_joined and _all_idle(life, trainers, at_s):
        why = f"{life.never_joined} failed at its start, and the others wait for it"
        return _stopping(life, at_s, SIGTERM, why, stuck=True)
    return life


def _doomed(life: Life) -> bool:
    """Whether the others cannot finish without those that failed."""
    return any(dooms(task, life.tasks) for task, well in life.ended.items() if not well)


def _all_idle(life: Life, tasks: list[TaskId], at_s: float) -> bool:
    """Whether none of some tasks has anything left to do, by news that is fresh."""
    news = [life.idle_s.get(task, -IDLE_NEWS_S) for task in tasks]
    return bool(news) and all(at_s - heard_s < IDLE_NEWS_S for heard_s in news)


def _chief_ended(life: Life) -> bool:
    """Whether a chief of its own has ended in a cluster with parameter servers.

    The workers of a ClusterCoordinator are servers: they never end, and without it idle.
    """
    has_ps = any(task.role == "ps" for task in life.tasks)
    return has_ps and TaskId("chief", 0) in life.ended


def _evaluated(life: Life, at_s: float, *, waited_s: float) -> bool:
    evaluating = [task for task in life.running if task.role == "evaluator"]
    if life.phase is Phase.AFTERMATH or not evaluating:
        return True
    return _all_idle(life, evaluating, at_s) or waited_s >= EVALUATION_S_MAX


def _watch_start(life: Life, at_s: float) -> tuple[Life, tuple[Order, ...]]:
    """Say who waits for whom when that changes; at the deadline, give it up if nobody works."""
    # Who ended before it had joined, even well, is waited for as much as who never came.
    gone = life.ended.keys() & life.start.ready
    members = tuple(task for task in life.tasks if task.role != "evaluator" and task not in gone)
    if life.phase is not Phase.TRAINING:
        return _told_start(life, None)
    late_s = min(BLOCKED_S, life.start_deadline_s / 2)
    still = standstill(life.start, members, at_s=at_s, idle_s=late_s, news_s=IDLE_NEWS_S)
    over = at_s >= life.start_deadline_s
    if still and over and nobody_comes(life.start, still, life.ended, at_s=at_s, idle_s=late_s):
        return life, (_given_up(life, still.missing, still.waiting, still.says),)
    if stand := _standing(life, members, at_s, late_s):
        return _hold_deadline(life, stand, at_s)
    now = standstill(life.start, members, at_s=at_s, idle_s=WAITING_IDLE_S, news_s=WAITING_NEWS_S)
    return _told_start(life, now)


def _standing(
    life: Life, members: tuple[TaskId, ...], at_s: float, lasts_s: float
) -> tuple[TaskId, ...]:
    """Who stands in its start beyond the deadline although all answer."""
    began_s = max(life.started_s.values(), default=0.0)
    late = at_s - began_s >= life.start_deadline_s and not life.restarts
    if not late or not any(life.start.calls.values()):
        return ()
    here = tuple(task for task in members if task not in life.ended)
    return standing_tasks(life.start.calls, here, life.start.ready, at_s=at_s, lasts_s=lasts_s)


def _hold_deadline(
    life: Life, stand: tuple[TaskId, ...], at_s: float
) -> tuple[Life, tuple[Order, ...]]:
    """Give up the start; before that, look whether they still stand there."""
    if are_fresh(life.start.calls, stand, at_s):
        says = f"{listed(stand)} cannot finish it, although every server answers"
        return life, (_given_up(life, (), stand, says),)
    # Where nobody can look, we ask less and less often.
    if at_s - life.looked_s < max(SAVED_S, life.looked_s - life.start_deadline_s):
        return life, ()
    why = "the deadline of the start has passed"
    return replace(life, looked_s=at_s), (SaveStacks(tasks=life.running, why=why),)


def _given_up(
    life: Life, missing: tuple[TaskId, ...], waiting: tuple[TaskId, ...], says: str
) -> TellStart:
    return TellStart(missing=missing, waiting=waiting, says=says, over_s=life.start_deadline_s)


def _told_start(life: Life, still: Standstill | None) -> tuple[Life, tuple[Order, ...]]:
    missing = still.missing if still else ()
    if missing == life.told_start:
        return life, ()
    says = still.says if still else "the start-up goes on"
    order = TellStart(missing=missing, waiting=still.waiting if still else (), says=says)
    return replace(life, told_start=missing), (order,)


def _watch_idle(life: Life) -> tuple[Life, tuple[Order, ...]]:
    """Ask for word of idle tasks only once it matters: before, idleness means nothing."""
    wanted_s: dict[str, float] = {}
    if life.never_joined:
        wanted_s = {"chief": STUCK_IDLE_S, "worker": STUCK_IDLE_S}
    if _chief_ended(life):
        wanted_s["worker"] = SERVER_IDLE_S
    if life.trained_s is not None:
        wanted_s["evaluator"] = SERVER_IDLE_S
    fresh = {
        task: wanted_s[task.role]
        for task in life.running
        if task.role in wanted_s and life.watched.get(task) != wanted_s[task.role]
    }
    orders = tuple(WatchIdle(task=task, idle_s=idle_s) for task, idle_s in fresh.items())
    return replace(life, watched={**life.watched, **fresh}), orders


def _restart(life: Life, fact: Fact) -> tuple[Life, tuple[Order, ...]]:
    """While the others train: who hangs is ended as everybody is, and then started again."""
    if life.phase is not Phase.TRAINING:
        return life, ()
    ending: tuple[Order, ...] = ()
    for task in [one for one in life.restarts if one in life.running]:
        due = due_signals(
            (task,),
            workers_serve=False,
            asked=life.asked,
            first=SIGTERM,
            grace_s=life.grace_s,
            at_s=fact.at_s,
        )
        life, orders = _send(life, due, fact.at_s, life.restarts[task].why)
        ending += orders
    restarts, again = start_again(life.restarts, life.ended, fact)
    return replace(life, restarts=restarts), (*ending, *again)


def _stopping(life: Life, at_s: float, signal: int, why: str, *, stuck: bool = False) -> Life:
    return replace(
        life, phase=Phase.STOPPING, since_s=at_s, first_signal=signal, why=why, stuck=stuck
    )


def _stop(life: Life, at_s: float) -> tuple[Life, tuple[Order, ...]]:
    """The next signals that are due. They count as sent, so that each is ordered once."""
    due = due_signals(
        life.running,
        workers_serve=_chief_ended(life),
        asked=life.asked,
        first=life.first_signal,
        grace_s=life.grace_s,
        at_s=at_s,
        saves_on=life.preempt_signal,
    )
    life, held, save = _save_first(life, due, at_s)
    due = {task: signal for task, signal in due.items() if task not in held}
    life, orders = _send(life, due, at_s, life.why)
    return life, (*save, *orders)


def _send(
    life: Life, due: Mapping[TaskId, int], at_s: float, why: str
) -> tuple[Life, tuple[Order, ...]]:
    """They count as sent, so that each is ordered once; who is stopped must go on to hear them."""
    orders: list[Order] = []
    for task, signal in due.items():
        orders.append(SendSignal(task=task, signal=signal, why=why))
        if task in life.held and signal != SIGKILL:
            orders.append(SendSignal(task=task, signal=SIGCONT, why=why))
    asked = {**life.asked, **{task: Asked(signal, at_s) for task, signal in due.items()}}
    return replace(life, asked=asked, held=life.held - due.keys()), tuple(orders)


def _save_first(
    life: Life, due: Mapping[TaskId, int], at_s: float
) -> tuple[Life, set[TaskId], tuple[Order, ...]]:
    """Evidence before a kill: who is not to be signalled yet, and whose stacks are wanted."""
    if life.grace_s == 0:
        return life, set(), ()
    unseen = {task for task in life.running if at_s - life.stacks_s.get(task, -SAVED_S) >= SAVED_S}
    needed = {task for task in unseen & due.keys() if life.stuck or due[task] == SIGKILL}
    fresh = {task for task in needed if at_s - life.saving_s.get(task, -SAVED_S) >= SAVED_S}
    if fresh and life.stuck:
        fresh = unseen  # who waits for whom is seen in all of them at one moment
    saving_s = {**life.saving_s, **dict.fromkeys(fresh, at_s)}
    wait_s = min(SAVE_S_MAX, life.grace_s / 2)
    held = {task for task in needed if at_s - saving_s[task] < wait_s}
    save = (SaveStacks(tasks=tuple(sorted(fresh)), why=life.why),) if fresh else ()
    return replace(life, saving_s=saving_s), held, save

"""Who keeps whom waiting: asked whenever a task stands still, and answered without any rule.

Whoever does nothing for longer than ever, or takes no step beyond its habit, stands still. Those
of them that wait inside of their framework wait for the others; who is waited for, and waits for
nobody, is named.
"""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from holdfast.model.activity_facts import ActivitySeen
from holdfast.model.cluster import TaskId
from holdfast.model.core_time import able_to_run_s
from holdfast.model.evidence import Evidence, FactKind
from holdfast.model.pace import steps_on
from holdfast.model.path import Outcome
from holdfast.model.stack_rounds import APART_S, looks_at
from holdfast.model.stacks import main_thread
from holdfast.model.stance import Stance, leaves_together, own_frame, stance_of
from holdfast.model.standing import standings
from holdfast.model.standing_task import StandingTask
from holdfast.model.start_calls import start_call
from holdfast.model.watch_facts import StacksSeen, StepsSeen, TaskMoves, TaskStill, TaskWaits

TOLD_AGAIN_S = 75.0  # while it lasts it is told again within this
SAME_S = 1.0  # between the clocks of two looks
AWAIT_LOOKS_S = 12.0  # a look at what it does comes within seconds: nothing is said before it
# Inside of its framework, a task that tells few steps may just take long ones.
OWN_CODE = frozenset({Stance.OWN, Stance.CALLED_BACK})
CLEARLY_AHEAD = frozenset({Stance.OWN, Stance.CALLED_BACK, Stance.COMPUTES})
ALONE_S, NOBODY_S, SAME_PLACE_S = 8.0, 15.0, 60.0  # without habits, and nobody waits for it
HERE_PATIENCE = 1.25  # of the time for which it stood at this line before, and went on
START_S = 10.0  # before it has habits, a task may compute for so long while others wait
# Who is waited for, the surest kind first: the first kind of which there is anybody is meant.
AHEAD = (
    frozenset({Stance.OWN}),
    frozenset({Stance.GONE}),
    frozenset({Stance.CALLED_BACK}),
    frozenset({Stance.COMPUTES}),
    frozenset({Stance.UNKNOWN}),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Standstill:
    """Those ahead keep the waiting ones waiting. Nobody ahead: all of them wait."""

    ahead: tuple[StandingTask, ...]
    waiting: tuple[StandingTask, ...] = ()
    now_s: float

    @property
    def since_s(self) -> float:
        waiting = self.waiting or self.ahead
        return min(one.since_s for one in waiting)

    @property
    def lasts_s(self) -> float:
        return max(0.0, self.now_s - self.since_s)

    @property
    def at_least(self) -> bool:
        """Whether it lasted already when somebody began to look: nobody knows since when."""
        return any(one.at_least for one in self.waiting or self.ahead)

    @property
    def usual_s(self) -> float:
        return max(one.usual_s for one in (*self.waiting, *self.ahead))


def standstills(evidence: Evidence) -> tuple[Standstill, ...]:
    """All of them, as of now, or as of when the tasks began to be ended."""
    now_s = min(evidence.facts[-1].at_s if evidence.facts else 0.0, evidence.ending_s())
    still = {
        task: found
        for task in evidence.tasks
        if (found := _still(evidence, task, now_s))
        and _is_looked_at(found, now_s)
        and found.stance is not Stance.SERVES
        and (found.stance in OWN_CODE or not found.is_unstepped)
    }
    if not still:
        return ()
    since_s = min(one.since_s for one in still.values())
    others = {
        task: found
        for task in evidence.tasks
        if task not in still and (found := _not_still(evidence, task, since_s))
    }
    placed = _by_vote({**still, **others})
    waiting = _waiting([placed[task] for task in still], placed)
    together: list[Standstill] = []
    concerned: set[TaskId] = set()
    if waiting:
        ahead = _ahead(evidence, placed, waiting)
        if _is_start(evidence, waiting, ahead, now_s) or _may_be_done(
            evidence, placed, ahead, now_s
        ):
            return ()
        together.append(Standstill(ahead=tuple(ahead), waiting=tuple(waiting), now_s=now_s))
        concerned = {one.task for one in (*waiting, *ahead)}
    alone = [
        Standstill(ahead=(one,), now_s=now_s)
        for task, one in placed.items()
        if task in still
        and task not in concerned
        and not (_may_serve(evidence, one) or _is_another_stopped(evidence, one))
        and _is_alone_for_long(one, placed, now_s)
        and (not waiting or _is_new_here(evidence, one) or now_s - one.since_s >= SAME_PLACE_S)
        and now_s - one.since_s >= HERE_PATIENCE * _stood_here_s(evidence, one)
    ]
    return (*together, *alone)


def _waiting(
    still: Sequence[StandingTask], placed: Mapping[TaskId, StandingTask]
) -> list[StandingTask]:
    """Those inside of a wait for others.

    Beside one that is elsewhere also who cannot be read, and who leaves together with the others.
    """
    busy = any(one.stance in CLEARLY_AHEAD for one in placed.values())
    return [one for one in still if one.stance is Stance.STEP or (busy and _may_wait(one))]


def _may_wait(one: StandingTask) -> bool:
    if one.stance is Stance.LEAVES:
        return leaves_together(one.look)
    return one.stance is Stance.UNKNOWN and one.look is not None


def _is_looked_at(one: StandingTask, now_s: float) -> bool:
    """Whether anybody has looked at what it does, or had long enough to do so."""
    seen = one.look is not None or one.activity is not None
    return seen or now_s - one.since_s >= AWAIT_LOOKS_S


def _is_alone_for_long(
    one: StandingTask, placed: Mapping[TaskId, StandingTask], now_s: float
) -> bool:
    """Whether it stands still for long enough where nobody is known to wait for it.

    A task without habits may just take long steps; all of them do, where all stand at one line.
    """
    same = [other for other in placed.values() if other is not one and _place(other) == _place(one)]
    limit_s = SAME_PLACE_S if same and _place(one) else ALONE_S
    known = bool(one.usual_s) or one.at_least
    return known or now_s - one.since_s >= limit_s


def _stood_here_s(evidence: Evidence, one: StandingTask) -> float:
    """How long it once stood at the line where it is now, and went on; 0: it never did."""
    place, since_s, longest_s = _place(one), -1.0, 0.0
    looks = looks_at(evidence, one.task) if place else []
    for fact in evidence.of(TaskWaits, one.task) if looks else ():
        if fact.waits_s:
            since_s = fact.at_s - fact.waits_s
        elif since_s >= 0 and fact.at_s <= one.since_s + SAME_S:
            there = any(since_s <= look.at_s <= fact.at_s and _at(look) == place for look in looks)
            longest_s = max(longest_s, fact.at_s - since_s) if there else longest_s
            since_s = -1.0
    return longest_s


def _is_start(
    evidence: Evidence,
    waiting: Sequence[StandingTask],
    ahead: Sequence[StandingTask],
    now_s: float,
) -> bool:
    """Whether some tasks are only up before others, or all of them in a first, long step.

    As long as a server has not opened its port, that is whom they wait for.
    """
    lasts_s = now_s - min(one.since_s for one in waiting)
    fresh = not any(one.usual_s or one.at_least for one in waiting)
    works = any(one.works and not any(evidence.of(StepsSeen, one.task)) for one in ahead)
    limit_s = (START_S if works else 0.0) if ahead else NOBODY_S
    return fresh and (lasts_s < limit_s or any(_closed_servers(evidence)))


def _closed_servers(evidence: Evidence) -> Iterator[TaskId]:
    for task, standing in standings(evidence).items():
        if not task.trains and standing.look.outcome == Outcome.REFUSED:
            yield task


def _may_serve(evidence: Evidence, one: StandingTask) -> bool:
    """Whether it may wait for work, and no stack says so: beside parameter servers, workers do."""
    beside_ps = any(other.role == "ps" for other in evidence.tasks)
    return one.stance is Stance.UNKNOWN and beside_ps and one.task.role == "worker"


def _is_another_stopped(evidence: Evidence, one: StandingTask) -> bool:
    """Whether another process of the job is held: then that is told, and may well be why."""
    held = {"stopped", "traced"}
    others = (task for task in evidence.tasks if task != one.task)
    looks = (_last(evidence.of(ActivitySeen, task)) for task in others)
    fresh = (look for look in looks if look is not None and look.at_s >= one.since_s)
    return any(process.does in held for look in fresh for process in look.processes[:1])


def _ahead(
    evidence: Evidence, placed: Mapping[TaskId, StandingTask], waiting: Sequence[StandingTask]
) -> list[StandingTask]:
    """Of several, who is where it never was before; else who does nothing for longer than ever."""
    waiters = {one.task for one in waiting}
    others = [one for task, one in placed.items() if task not in waiters and task.trains]
    if all(one.look and start_call(one.look) for one in waiting):
        # Who has made a step is past the start that these are in.
        others = [one for one in others if not any(evidence.of(StepsSeen, one.task))]
    for kind in AHEAD:
        found = [one for one in others if one.stance in kind]
        if found:
            new = [one for one in found if _is_new_here(evidence, one)]
            found = new or found
            return [one for one in found if one.told] or found
    return []


def _is_new_here(evidence: Evidence, one: StandingTask) -> bool:
    """Whether it was never seen to go on from this line: who has done so may do it again."""
    place = _place(one)
    looks = looks_at(evidence, one.task) if place else []
    there = [_at(look) == place for look in looks]
    if True in there and not all(there[there.index(True) :]):
        return False
    moved_s = one.since_s - SAME_S if one.told else 0.0
    return not any(
        is_there and look.at_s < moved_s for is_there, look in zip(there, looks, strict=True)
    )


def _may_be_done(
    evidence: Evidence,
    placed: Mapping[TaskId, StandingTask],
    ahead: Sequence[StandingTask],
    now_s: float,
) -> bool:
    """Whether one has ended, and another may just be at its own part of a step.

    The others wait for either. Time tells: it takes longer than ever, stays, or joins them.
    """
    gone_s = [one.since_s for one in placed.values() if one.stance is Stance.GONE]
    alive = [one for one in ahead if one.stance is Stance.OWN]
    if not alive or not any(now_s - since_s < AWAIT_LOOKS_S for since_s in gone_s):
        return False
    return not any(one.told or _stays(evidence, one, min(gone_s)) for one in alive)


def _stays(evidence: Evidence, one: StandingTask, since_s: float) -> bool:
    """Whether two looks since then, far enough apart, found it at one line."""
    looks = [look for look in looks_at(evidence, one.task) if look.at_s >= since_s]
    there = [look.at_s for look in looks if _at(look) == _place(one)]
    return bool(there) and there[-1] - there[0] >= APART_S


def _still(evidence: Evidence, task: TaskId, now_s: float) -> StandingTask | None:
    """A task that trains, and stands still now, by what was told of it last."""
    if not task.trains or evidence.exit_of(task) is not None:
        return None
    waits = _last(evidence.of(TaskWaits, task))
    still = _last(fact for fact in evidence.of(TaskStill, task) if fact.sign != "processes")
    moved_s = max((fact.at_s for fact in evidence.of(TaskMoves, task)), default=-1.0)
    told: TaskStill | TaskWaits
    if waits is not None and waits.waits_s and now_s - waits.at_s <= TOLD_AGAIN_S:
        told, since_s = waits, waits.at_s - waits.waits_s
    elif still is not None and still.at_s > moved_s and now_s - still.at_s <= TOLD_AGAIN_S:
        told, since_s = still, still.at_s - still.still_s
    else:
        return None
    return _standing(evidence, task, since_s, told)


def _not_still(evidence: Evidence, task: TaskId, since_s: float) -> StandingTask | None:
    """Another one that trains, if anybody looked at it since then; or one that has ended."""
    if not task.trains:
        return None
    exited = evidence.exit_of(task)
    if exited is not None:
        is_needed = not any(other.role == "ps" for other in evidence.tasks)
        gone = StandingTask(
            task=task, stance=Stance.GONE, since_s=exited.at_s, told=None, exited=exited
        )
        return gone if is_needed else None
    if steps_on(evidence, task, since_s=since_s):
        return None  # nobody waits for it in a step, nor it for them
    found = _standing(evidence, task, since_s, None)
    return found if found.look or found.activity else None


def _standing(
    evidence: Evidence, task: TaskId, since_s: float, told: TaskStill | TaskWaits | None
) -> StandingTask:
    stale_s = _stale_s(evidence, task)
    fresh_s = max(since_s - SAME_S, stale_s)
    seen = (fact for fact in evidence.of(ActivitySeen, task) if fact.at_s >= fresh_s)
    look, activity = _newest_look(evidence, task, fresh_s, stale_s), _last(seen)
    return StandingTask(
        task=task,
        stance=stance_of(look, activity),
        since_s=since_s,
        usual_s=told.usual_s if told else 0.0,
        told=told,
        look=look,
        activity=activity,
    )


def _newest_look(
    evidence: Evidence, task: TaskId, fresh_s: float, stale_s: float
) -> StacksSeen | None:
    """The newest one that could be read; else one since it was told to stand still at all.

    On a starved host looks fail, and what is counted since when may begin anew.
    """
    begun_s = max(_told_since_s(evidence, task) - SAME_S, stale_s)
    looks = [look for look in looks_at(evidence, task) if look.at_s >= min(begun_s, fresh_s)]
    fresh = [look for look in looks if look.at_s >= fresh_s]
    read = (list(filter(main_thread, some)) for some in (fresh, looks))
    return _last(iter(next(filter(None, read), fresh)))


def _told_since_s(evidence: Evidence, task: TaskId) -> float:
    """Since when it is told to stand still, with no word since that it goes on; infinite: never."""
    since_s = math.inf
    for fact in evidence.of(TaskWaits, task):
        since_s = min(since_s, fact.at_s - fact.waits_s) if fact.waits_s else math.inf
    return since_s


def _stale_s(evidence: Evidence, task: TaskId) -> float:
    """Looks from before this tell nothing: it moved since, and there was time to look again."""
    now_s = min(evidence.facts[-1].at_s, evidence.ending_s())
    moves = (move.at_s for move in evidence.of(TaskMoves, task))
    return max((at_s for at_s in moves if at_s <= now_s - AWAIT_LOOKS_S), default=-SAME_S)


def _by_vote(placed: dict[TaskId, StandingTask]) -> dict[TaskId, StandingTask]:
    """What a wait in native code is for, where only the others can tell.

    A step may be called without a Python frame of its framework. Where all but one stand at one
    line, that is the step; and where one stands still at code of its own, the others wait for it.
    """
    native = {task: one for task, one in placed.items() if one.stance is Stance.NATIVE}
    if not native:
        return placed
    places = Counter(map(_place, native.values()))
    in_step = any(one.stance is Stance.STEP for one in placed.values())
    elsewhere = any(one.stance is Stance.OWN and one.told for one in placed.values())
    (place, count), *rest = places.most_common()
    shared = count > 1 and not (rest and rest[0][1] == count)
    for task, one in native.items():
        is_step = _place(one) == place if shared else elsewhere
        stance = Stance.STEP if is_step and not in_step else Stance.OWN
        placed[task] = replace(one, stance=stance)
    return placed


def _place(one: StandingTask) -> str:
    return _at(one.look) if one.look else ""


def _at(look: StacksSeen) -> str:
    main = main_thread(look)
    return str(own_frame(main)) if main else ""


def able_s(evidence: Evidence, standstill: Standstill) -> float:
    """How long it lasts, in time in which those ahead were able to run.

    Where nobody is ahead, or only who has ended, those who wait must have been able to.
    """
    ahead = [one for one in standstill.ahead if one.exited is None]
    return min(
        able_to_run_s(evidence, one.task, since_s=standstill.since_s, until_s=standstill.now_s)
        for one in ahead or standstill.waiting
    )


def _last(facts: Iterator[FactKind]) -> FactKind | None:
    return max(facts, key=lambda fact: fact.at_s, default=None)

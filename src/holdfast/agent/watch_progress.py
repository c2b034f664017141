"""Whether the tasks of this host go on, and who keeps the others waiting."""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from holdfast.agent.task_progress import STILL_AGAIN_S, TaskProgress
from holdfast.agent.watched import Watched
from holdfast.model.cluster import TaskId
from holdfast.model.facts import Fact
from holdfast.model.idleness import Spell
from holdfast.model.movement import Movement, Signs
from holdfast.model.pattern import AnyOf
from holdfast.model.steps import steps_told
from holdfast.model.straggling import Slow, Straggling, Work
from holdfast.model.traffic import beside
from holdfast.model.waiting import WAITING_WORDS
from holdfast.model.watch_facts import (
    StepsSeen,
    TaskMoves,
    TaskSlow,
    TaskStill,
    TaskWaits,
)
from holdfast.probes.rhythm import rhythm_of, starved_s

EVERY_S = 1.0  # between looks, where nothing hurries
LATE_S = 1.0  # a look that comes this much after its time
INTERVALS_KEPT = 15
STILL_AGAIN_MAX_S = 60.0
WAITS_AGAIN = 1.5
UNBEGUN_SUSPECT_S = 120.0
SLOWED, SLOWED_OVER_S, SLOWED_LOOK_S = 3.0, 10.0, 30.0
STEPS_AGAIN_S, SLOW_AGAIN_S = 30.0, 15.0
PACE_CHANGED, PACE_OVER_S, PACE_POINTS = 3.0, 10.0, 2
TRACES_EVERY_S = 5.0
DOUBT = 0.45  # of the patience we have with a task: then it is time to see what it does
SPELL_DOUBT = 0.65
TOLD, CHECKPOINT = "told", "checkpoint"
RESTS_S = 3.0
STOPPED = frozenset({"T", "t"})
SERVERS = frozenset({"ps"})


def lateness_s(elapsed_s: float, intervals: Iterable[float]) -> float:
    """How much later than planned a look comes; the plan is what looks usually do.

    Those that hurry are no plan: after them, a usual one would always be late.
    """
    before = sorted(intervals)
    usual_s = max(before[len(before) // 2] if before else 0.0, EVERY_S)
    late_s = elapsed_s - usual_s
    return late_s if late_s > LATE_S else 0.0


def _rates(tasks: Mapping[TaskId, Watched]) -> dict[TaskId, float]:
    """What each task that trains has just been counted to exchange, if it was counted."""
    rates = {task: watched.exchanged_per_s for task, watched in tasks.items() if task.trains}
    return {task: rate for task, rate in rates.items() if rate is not None}


class ProgressLook:
    """Looks at steps, main threads and processes; tells of who stands still against its habit."""

    def __init__(self, host: str) -> None:
        self._host = host
        self._tasks: dict[TaskId, TaskProgress] = {}
        self._started: dict[TaskId, int] = {}  # the process that was last started for each
        self._intervals: deque[float] = deque(maxlen=INTERVALS_KEPT)
        self._looked_s: float | None = None
        self._waiting = AnyOf(WAITING_WORDS)
        self._straggling = Straggling()

    def look(self, tasks: Mapping[TaskId, Watched], at_s: float) -> Iterator[Fact]:
        for gone in self._tasks.keys() - tasks.keys():
            del self._tasks[gone]
        late_s = self._late_s(at_s)
        held = any(watched.state in STOPPED for watched in tasks.values())
        is_left = self._is_one_left(tasks)
        rates = _rates(tasks)
        for task, watched in tasks.items():
            known = self._known(task, watched)
            self._see_traffic(known, watched, at_s, held=held, others_per_s=beside(task, rates))
            self._see(known, watched, at_s, late_s=late_s, held=held)
            self._see_stillness(known, is_left=is_left)
            yield from self._steps_facts(task, known, at_s)
            rests = [*self._still_facts(task, known, at_s), *self._waits_facts(task, known, at_s)]
            if rests and known.step_told != known.step:
                yield self._steps(task, known, at_s)  # what is told of its rest names its last step
            yield from rests
        yield from self._slow_facts(at_s, late_s=late_s)

    def suspects(self) -> set[TaskId]:
        """Who may stand still: half way beyond its habit. Of a server that alone means nothing.

        One that has never begun is looked at for a while only: it may wait for work for hours.
        """
        return {task for task, known in self._tasks.items() if self._is_suspect(task, known)}

    def _is_suspect(self, task: TaskId, known: TaskProgress) -> bool:
        spell, still = known.spell_doubt, known.doubt
        if spell is not None and task.trains:
            return bool(spell.usual_s) or spell.idle_s <= UNBEGUN_SUSPECT_S
        if still is None or still.sign == "processes":
            return False
        return still.usual_s > 0 or still.still_s <= UNBEGUN_SUSPECT_S

    def slowed(self) -> set[TaskId]:
        """Who has lately become much slower than it was, or than the others: stacks tell why."""
        return {task for task, known in self._tasks.items() if self._has_just_slowed(known)}

    def _has_just_slowed(self, known: TaskProgress) -> bool:
        return any(
            since_s is not None and known.looked_s - since_s <= SLOWED_LOOK_S
            for since_s in (known.slowed_s, known.slow_told_s)
        )

    def _late_s(self, at_s: float) -> float:
        elapsed_s = at_s - self._looked_s if self._looked_s is not None else 0.0
        self._looked_s = at_s
        late_s = lateness_s(elapsed_s, self._intervals)
        if elapsed_s > 0:
            self._intervals.append(elapsed_s)
        return late_s

    def _known(self, task: TaskId, watched: Watched) -> TaskProgress:
        pid = watched.main or watched.pid
        known = self._tasks.get(task)
        is_again = self._started.setdefault(task, watched.pid) != watched.pid
        self._started[task] = watched.pid
        if known is None or known.pid != pid or is_again:
            fresh = TaskProgress(pid, Movement(is_server=task.role in SERVERS))
            if is_again:  # what is in its files by now was written by the one before it
                fresh.output.new(watched.streams)
            elif known is not None:  # a wrapper has started the real one: its output goes on
                fresh.output, fresh.steps, fresh.step = known.output, known.steps, known.step
            known = self._tasks[task] = fresh
        return known

    def _see(
        self, known: TaskProgress, watched: Watched, at_s: float, *, late_s: float, held: bool
    ) -> None:
        stepped, spoke, waits = self._read(known, watched, at_s)
        now, before = rhythm_of(known.pid), known.rhythm
        elapsed_s, used_s = at_s - known.looked_s, watched.cpu_s - known.cpu_s
        known.rhythm, known.looked_s, known.cpu_s = now, at_s, watched.cpu_s
        wakes, run_share, wanted_s = 0, 0.0, 0.0
        if now is not None and before is not None and elapsed_s > 0:
            wakes = max(0, now.wakes - before.wakes)
            run_share = (now.run_ns - before.run_ns) / 1e9 / elapsed_s
            wanted_s = starved_s(before, now, elapsed_s)
        known.movement.see(
            Signs(
                at_s=at_s,
                wakes=wakes,
                run_share=run_share,
                cpu_s=watched.cpu_s,
                stepped=stepped,
                spoke=spoke,
                waits=waits,
                held=held,
                late_s=late_s,
            )
        )
        if elapsed_s > 0:
            known.idleness.see(
                at_s,
                cores=max(0.0, used_s / elapsed_s),
                main_cores=run_share,
                wakes_per_s=wakes / elapsed_s,
                usual_wakes_per_s=known.movement.wake_rate,
                begun=known.movement.begun,
                stepped=stepped and known.source != CHECKPOINT,  # it was taken seconds ago
                held=held,
                late_s=late_s + wanted_s,
            )
        if late_s:
            known.traffic.observed_late(late_s, at_s)
        known.work = None
        if now is not None and elapsed_s > 0 and known.movement.begun:
            doing = 1.0 if now.is_doing else max(0.0, min(1.0, used_s / elapsed_s))
            pace_s = known.movement.wakes.pace_s
            known.work = Work(wakes=wakes, over_s=elapsed_s, doing=doing, pace_s=pace_s)

    def _see_traffic(
        self,
        known: TaskProgress,
        watched: Watched,
        at_s: float,
        *,
        held: bool,
        others_per_s: float,
    ) -> None:
        if watched.exchanged_per_s is None:
            return
        known.traffic.see(at_s, watched.exchanged_per_s, held=held, others_per_s=others_per_s)
        watched.exchanged_per_s = None

    def _see_stillness(self, known: TaskProgress, *, is_left: bool) -> None:
        movement, is_told = known.movement, known.still_told_s is not None
        # However often it wakes, these are no steps.
        alone = is_left or known.traffic.is_quiet
        known.still = movement.stillness(is_told=is_told, is_left=alone)
        known.doubt = movement.stillness(DOUBT, is_left=alone)
        known.spell = self._spell(known, is_left=is_left)
        known.spell_doubt = self._spell(known, SPELL_DOUBT, is_left=is_left)

    def _spell(self, known: TaskProgress, patience: float = 1.0, *, is_left: bool) -> Spell | None:
        """In which it does nothing, takes no step, or exchanges nothing with the others."""
        is_told = known.waits_told_s is not None and patience == 1.0
        idle = known.idleness.spell(patience, is_left=is_left, is_told=is_told)
        # Without a habit, who wakes now and then may take light steps, which its traffic shows.
        if idle is not None and (idle.usual_s or is_told or not known.traffic.flows):
            return idle
        quiet = known.traffic.spell(known.looked_s, patience, is_told=is_told)
        return known.movement.unstepped(patience) or quiet

    def _is_one_left(self, tasks: Mapping[TaskId, Watched]) -> bool:
        """Whether all have ended that one trained with; beside servers each trains by itself."""
        left, began = (sum(task.trains for task in some) for some in (tasks, self._started))
        return left == 1 < began and not any(task.role in SERVERS for task in self._started)

    def _read(self, known: TaskProgress, watched: Watched, at_s: float) -> tuple[bool, bool, bool]:
        """Whether it told a step, something else, and that it waits."""
        spoke = waits = False
        before = known.step
        for piece in known.output.new(watched.streams):
            known.steps = steps_told(piece, known.steps)
            waiting = self._waiting.first(piece, 0) >= 0
            waits = waits or waiting
            spoke = spoke or not waiting or self._says_more(piece)
        self._advance(known, watched)
        if at_s - known.traced_s >= TRACES_EVERY_S:
            known.traced_s = at_s
            spoke = self._look_at_traces(known, watched) or spoke
        stepped = known.step != before if known.source == TOLD else known.step > before
        if stepped:
            known.pace.append((at_s, known.step))
        return stepped, spoke, waits

    def _advance(self, known: TaskProgress, watched: Watched) -> None:
        """To the step that was told last, by the program itself or by its output."""
        if watched.told_step >= 0:
            self._believe(known, watched.told_step)
        elif known.steps.step > known.step:
            known.step, known.source = known.steps.step, known.steps.source

    def _believe(self, known: TaskProgress, step: int) -> None:
        """What its program itself says counts, whatever was read in its output before."""
        if known.source != TOLD or step < known.step:
            known.pace.clear()
            known.source = TOLD
        known.step = step

    def _says_more(self, piece: bytes) -> bool:
        return any(line and self._waiting.first(line, 0) < 0 for line in piece.split(b"\n"))

    def _look_at_traces(self, known: TaskProgress, watched: Watched) -> bool:
        """Whether checkpoints or event files have grown. Only who tells no steps counts by them."""
        left, before = known.traces.look(watched.open_files(known.pid)), known.left
        known.left = left
        if left.checkpoint > known.step and known.steps.step < 0 and known.source != TOLD:
            known.step, known.source = left.checkpoint, CHECKPOINT
        return left.checkpoint > before.checkpoint or left.event_bytes > before.event_bytes > 0

    def _steps_facts(self, task: TaskId, known: TaskProgress, at_s: float) -> Iterator[Fact]:
        if not known.pace or known.pace[-1][0] != at_s:
            if known.pace and at_s - known.pace[-1][0] >= RESTS_S:
                yield from self._rest_facts(task, known, at_s)
            return
        step_s = known.step_s()
        self._compare(known, step_s, at_s)
        told_s, told = known.steps_told_s, known.step_s_told
        changed = step_s > 0 and not told / PACE_CHANGED < step_s < told * PACE_CHANGED
        soon = changed or self._has_just_slowed(known)
        if told_s is None or at_s - told_s >= (STILL_AGAIN_S if soon else STEPS_AGAIN_S):
            known.steps_told_s, known.step_s_told = at_s, step_s
            yield self._steps(task, known, at_s)
        while len(known.pace) > PACE_POINTS and at_s - known.pace[1][0] >= PACE_OVER_S:
            known.pace.popleft()

    def last_step(self, task: TaskId, watched: Watched, at_s: float) -> Iterator[Fact]:
        """How far a task has come that has ended: told by its program, or by its output."""
        known = self._tasks.get(task)
        if known is None:
            return
        for piece in known.output.new(watched.streams):
            known.steps = steps_told(piece, known.steps)
        self._advance(known, watched)
        if known.step_told != known.step:
            yield self._steps(task, known, at_s)

    def _rest_facts(self, task: TaskId, known: TaskProgress, at_s: float) -> Iterator[Fact]:
        """The step at which it came to rest: what is lost is counted from there."""
        if known.source == TOLD and known.step_told != known.step:
            yield self._steps(task, known, at_s)

    def _steps(self, task: TaskId, known: TaskProgress, at_s: float) -> StepsSeen:
        known.step_told = known.step
        return StepsSeen(
            step=known.step,
            source=known.source,
            step_s=round(known.step_s(), 4),
            **self._where(task, at_s),
        )

    def _compare(self, known: TaskProgress, step_s: float, at_s: float) -> None:
        """Its pace over the last steps, with the best that it has had over as long a time."""
        if not step_s or at_s - known.pace[0][0] < SLOWED_OVER_S:
            return
        known.best_step_s = min(known.best_step_s or step_s, step_s)
        if step_s < known.best_step_s * SLOWED:
            known.slowed_s = None
        elif known.slowed_s is None:
            known.slowed_s = at_s

    def _still_facts(self, task: TaskId, known: TaskProgress, at_s: float) -> Iterator[Fact]:
        still = known.still
        if still is None:
            if known.still_told_s is not None:
                known.still_told_s = None
                yield TaskMoves(still_s=round(known.longest_s, 3), **self._where(task, at_s))
            return
        if known.still_told_s is None:
            known.still_again_s = STILL_AGAIN_S
        elif at_s - known.still_told_s < known.still_again_s:
            return
        elif not still.usual_s or still.sign == "processes":
            # It may only wait for its turn, and do so for hours.
            known.still_again_s = min(2 * known.still_again_s, STILL_AGAIN_MAX_S)
        known.still_told_s, known.longest_s = at_s, still.still_s
        yield TaskStill(
            still_s=round(still.still_s, 3),
            usual_s=round(still.usual_s, 3),
            sign=still.sign,
            cpu_share=round(still.cpu_share, 3),
            **self._where(task, at_s),
        )

    def _waits_facts(self, task: TaskId, known: TaskProgress, at_s: float) -> Iterator[Fact]:
        spell = known.spell if task.trains else None
        if spell is None:
            if known.waits_told_s is not None:
                known.waits_told_s = None
                yield TaskWaits(waits_s=0.0, **self._where(task, at_s))
            return
        if known.waits_told_s is None:
            known.waits_again_s = STILL_AGAIN_S
        elif at_s - known.waits_told_s < known.waits_again_s:
            return
        else:
            known.waits_again_s = min(WAITS_AGAIN * known.waits_again_s, STILL_AGAIN_MAX_S)
        known.waits_told_s = at_s
        yield TaskWaits(
            waits_s=round(spell.idle_s, 3),
            usual_s=round(spell.usual_s, 3),
            unstepped=spell.unstepped,
            **self._where(task, at_s),
        )

    def _slow_facts(self, at_s: float, *, late_s: float) -> Iterator[Fact]:
        trainers = {
            task: known
            for task, known in self._tasks.items()
            if known.work is not None and task.trains
        }
        works = {task: known.work for task, known in trainers.items() if known.work}
        if late_s or any(known.still for known in trainers.values()):
            self._straggling.forget()
            return
        slow = self._straggling.see(at_s, works)
        for task, known in trainers.items():
            told_s = known.slow_told_s
            if task in slow:
                if told_s is None or at_s - told_s >= SLOW_AGAIN_S:
                    known.slow_told_s = at_s
                    yield self._slow(task, known, slow[task], at_s)
            elif told_s is not None and self._straggling.is_over(task):
                known.slow_told_s = None
                step_s = round(known.step_s(), 4)
                where = self._where(task, at_s)
                yield TaskSlow(factor=1.0, step_s=step_s, others_s=step_s, **where)

    def _slow(self, task: TaskId, known: TaskProgress, slow: Slow, at_s: float) -> TaskSlow:
        """In the task's own steps where these are known, else from one wake-up to the next."""
        step_s = known.step_s()
        wakes = slow.wakes_per_s * step_s if slow.together and step_s else 1.0
        return TaskSlow(
            factor=round(slow.factor, 2),
            step_s=round(slow.own_s * wakes, 4),
            others_s=round(slow.others_s * wakes, 4),
            **self._where(task, at_s),
        )

    def _where(self, task: TaskId, at_s: float) -> dict[str, Any]:
        return {"at_s": at_s, "host": self._host, "task": task}

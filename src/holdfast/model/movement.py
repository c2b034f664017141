"""Whether one task moves: its steps, its main thread and its processes, taken together.

A step that was told is the best sign, but logs tell only every so many. Between them the main
thread's wake-ups are: they come with every step and stop in a deadlock. A busy main thread moves,
too; but where the wake-ups of its steps have stopped, it is busy with something else than steps.
"""

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from holdfast.model.habit import FEW_PATIENCE, FLOOR_S, GAPS_FEW, Habit
from holdfast.model.idleness import Spell

BUSY_SHARE = 0.2  # of a core, by the main thread alone
WORKING_SHARE = 0.02  # of a core, by all threads: a server that only waits uses less
IDLE_SHARE = 0.03
UNBEGUN_S = 10.0  # stillness without any CPU that is worth a look, however early
NOISE = 30  # wake-ups that are so many times rarer than usual are not those of its steps
POLLING = 8  # so many times rarer, and without any work: it only looks whether it may go on
RATE_CHANGED = 2.0
LOOKS_KEPT, RATES_KEPT, NOW_LOOKS = 64, 31, 4
STEPS_BEGUN = 2
UNSTEPPED_S = 20.0  # after its first steps, and no other one is told
EVEN_GAPS, EVEN_S, EVEN_FACTOR = 4, 20.0, 2.5
SERVING_LOOKS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Signs:
    """What one look saw of a task, since the look before."""

    at_s: float
    wakes: int  # of its main thread
    run_share: float  # of a core, by its main thread
    cpu_s: float  # used so far, by all its processes
    stepped: bool = False  # it told a step that it had not told before
    spoke: bool = False  # it wrote something else
    waits: bool = False  # it wrote that it waits for others
    held: bool = False  # somebody of this job is stopped: a pause now is no habit
    late_s: float = 0.0  # how much later this look came than planned


@dataclass(frozen=True, slots=True)
class Stillness:
    still_s: float
    usual_s: float  # 0: there is no habit yet
    sign: str  # steps, main thread, processes
    cpu_share: float


@dataclass(slots=True)
class Movement:
    """Fed with every look at one task; answers whether it stands still."""

    is_server: bool = False  # its main thread is in join() for ever
    look_s: float = 1.0
    begun: bool = False  # it trains: what it does now is its habit
    steps: Habit = field(init=False)
    wakes: Habit = field(init=False)
    processes: Habit = field(init=False)
    _looked_s: float | None = None
    _sign_s: float = 0.0  # the last sign of any kind
    _used: deque[tuple[float, float]] = field(default_factory=lambda: deque(maxlen=LOOKS_KEPT))
    _moving: deque[tuple[float, float]] = field(default_factory=lambda: deque(maxlen=LOOKS_KEPT))
    _rates: deque[float] = field(default_factory=lambda: deque(maxlen=RATES_KEPT))
    _now: deque[float] = field(default_factory=lambda: deque(maxlen=NOW_LOOKS))
    _steps_told: int = 0
    _first_step_s: float = 0.0
    _served: int = 0
    _held: bool = False

    def __post_init__(self) -> None:
        self.steps, self.wakes, self.processes = (Habit(self.look_s) for _ in range(3))

    def see(self, signs: Signs) -> None:
        at_s = signs.at_s
        if self._looked_s is None or at_s <= self._looked_s:
            self._looked_s = self._sign_s = at_s
            self._used.append((at_s, signs.cpu_s))
            return
        elapsed_s = at_s - self._looked_s
        self._looked_s = at_s
        if signs.late_s > 0:
            self._look_late(signs.late_s, at_s)
        self._held |= signs.held
        used_s = signs.cpu_s - self._used[-1][1]
        self._used.append((at_s, signs.cpu_s))
        rate = signs.wakes / elapsed_s
        self._now.append(rate)
        polls = rate * POLLING < self.wake_rate and used_s < IDLE_SHARE * elapsed_s
        enough = signs.wakes >= self._wakes_needed(elapsed_s) and not polls
        woke = enough or (signs.stepped and signs.wakes > 0)
        busy = signs.run_share >= BUSY_SHARE
        if signs.stepped:
            self._stepped(at_s)
        if woke:
            self._sign(self.wakes, at_s)
            self._moving.append((at_s, rate))
            self._rates.append(rate)
        if used_s >= WORKING_SHARE * elapsed_s:
            self._sign(self.processes, at_s)
            self._served = 0 if woke or busy else self._served + 1
        if woke or busy or signs.spoke or signs.stepped:
            self._sign_s = at_s
            self._held = signs.held
        if not self.begun:
            self._begin(waits=signs.waits)

    def stillness(
        self, patience: float = 1.0, *, is_told: bool = False, is_left: bool = False
    ) -> Stillness | None:
        """Whether it stands still, as of the last look; with less patience, so much sooner.

        `is_told`: it was told to stand still, which only a move of its own ends. `is_left`: all
        others have ended, so that its wake-ups are no longer those of steps that it shares.
        """
        if self._looked_s is None:
            return None
        if self.begun:
            return self._still_later(patience, is_told=is_told, is_left=is_left)
        return self._still_early(patience, is_told=is_told)

    @property
    def wake_rate(self) -> float:
        """How often its main thread usually wakes in a second; 0 before it has begun."""
        return _median(self._rates) if self.begun and self._rates else 0.0

    def unstepped(self, patience: float = 1.0) -> Spell | None:
        """For how long it has told no step, where there is no habit: once long, it is a spell."""
        told_s = self.steps.still_s(self._at_s)
        least_s = max(UNSTEPPED_S, FEW_PATIENCE * self.steps.longest_s(self._at_s))
        if self.steps.gaps >= GAPS_FEW or told_s < least_s * patience:
            return None
        return Spell(self._at_s - told_s, told_s, 0.0, unstepped=True)

    def _still_later(self, patience: float, *, is_told: bool, is_left: bool) -> Stillness | None:
        at_s = self._at_s
        rested_s, told_s = self.wakes.still_s(at_s), self.steps.still_s(at_s)
        floor_s = FLOOR_S * patience  # no habit has a lower limit: this look is the cheap one
        if self.wakes.is_known and rested_s > floor_s:
            usual_s = self.wakes.usual_s(at_s)
            limit_s = self.wakes.limit_s(at_s, is_told=is_told) * patience
            quiet_s = at_s - self._sign_s
            if quiet_s > limit_s:
                return self._stillness(quiet_s, usual_s, "main thread")
            if rested_s > limit_s:
                return self._stillness(rested_s, usual_s, "steps")
        limit_s = self.steps.limit_s(at_s, is_told=is_told) * patience
        slower = 1.0 if is_left else self._slower()
        if told_s > floor_s and told_s > limit_s * slower:
            return self._stillness(told_s, self.steps.usual_s(at_s), "steps")
        return None

    def _still_early(self, patience: float, *, is_told: bool) -> Stillness | None:
        at_s = self._at_s
        if self.is_server or self._served >= SERVING_LOOKS:
            self.is_server = True
            if not self.processes.is_still(at_s, is_told=is_told):
                return None
            usual_s = self.processes.usual_s(at_s)
            return self._stillness(self.processes.still_s(at_s), usual_s, "processes")
        quiet_s = at_s - self._sign_s
        if quiet_s <= UNBEGUN_S * patience or self._cpu_share(quiet_s) >= IDLE_SHARE:
            return None
        return self._stillness(quiet_s, 0.0, "main thread")

    @property
    def _at_s(self) -> float:
        return self._looked_s or 0.0

    def _stillness(self, still_s: float, usual_s: float, sign: str) -> Stillness:
        return Stillness(still_s, usual_s, sign, self._cpu_share(still_s))

    def _cpu_share(self, over_s: float) -> float:
        """Of one core, since then, as far back as looks are kept."""
        at_s, cpu_s = self._used[-1]
        then_s, then_cpu_s = next(
            (used for used in self._used if used[0] >= at_s - over_s), self._used[-1]
        )
        return max(0.0, cpu_s - then_cpu_s) / (at_s - then_s) if at_s > then_s else 0.0

    def _look_late(self, late_s: float, at_s: float) -> None:
        self._sign_s = min(self._sign_s + late_s, at_s)
        for habit in (self.steps, self.wakes, self.processes):
            habit.observed_late(late_s, at_s)

    def _sign(self, habit: Habit, at_s: float) -> None:
        if self._held:
            habit.went_on(at_s)
        else:
            habit.moved(at_s)

    def _stepped(self, at_s: float) -> None:
        self._steps_told += 1
        if self._steps_told == 1:
            self._first_step_s = at_s
        self._sign(self.steps, at_s)

    def _wakes_needed(self, elapsed_s: float) -> int:
        usual = _median(self._rates) if self.begun and self._rates else 0.0
        return max(1, math.ceil(usual * elapsed_s / NOISE))

    def _slower(self) -> float:
        """How much longer steps that are told may take, by how often its main thread wakes.

        As often as in its steps: it takes them, and only tells them less often now. Less often:
        they take longer. More often: it does something else.
        """
        usual = self.wake_rate
        now = sum(self._now) / len(self._now)
        if not usual or now > usual * RATE_CHANGED:
            return 1.0
        return math.inf if now * RATE_CHANGED >= usual else usual / max(now, usual / NOISE)

    def _begin(self, *, waits: bool) -> None:
        """It trains when it tells steps, or when it has an even rhythm, which no start-up has."""
        if waits and not self._steps_told:
            self._moving.clear()  # who waits for others does so in a rhythm, too
            return
        if self._steps_told >= STEPS_BEGUN:
            since_s = self._first_step_s
        elif _is_even(last := _last_for(self._moving, EVEN_S), self.look_s):
            since_s = last[0][0]
        else:
            return
        self.begun = True
        self.wakes = Habit(self.look_s)
        self._rates.clear()
        for at_s, rate in self._moving:
            if at_s >= since_s:
                self.wakes.moved(at_s)
                self._rates.append(rate)


def _last_for(moving: Sequence[tuple[float, float]], over_s: float) -> list[tuple[float, float]]:
    """The newest signs: as many as are needed for both a number of gaps and a time."""
    since = len(moving) - 1 - EVEN_GAPS
    while since > 0 and moving[-1][0] - moving[since][0] < over_s:
        since -= 1
    return list(moving)[max(0, since) :]


def _is_even(last: Sequence[tuple[float, float]], look_s: float) -> bool:
    """Whether these signs came in even distances, and were alike."""
    gaps = [later[0] - earlier[0] for earlier, later in pairwise(last)]
    if len(gaps) < EVEN_GAPS or last[-1][0] - last[0][0] < EVEN_S:
        return False
    rates = sorted(rate for _, rate in last)
    low, high = rates[len(rates) // 10], rates[-1 - len(rates) // 10]
    return max(gaps) - look_s <= EVEN_FACTOR * min(gaps) and high <= EVEN_FACTOR * low


def _median(values: Sequence[float]) -> float:
    return sorted(values)[len(values) // 2]

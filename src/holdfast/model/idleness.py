"""How long a task does nothing at all, and how long it usually does nothing.

A task that waits for another one uses no core, and its main thread does not wake. In lockstep
that lasts as long as the others are late: a spell that is longer than any before is worth a look
at who keeps it waiting, long before the task itself is late by its own steps. What computes, in
its main thread or in native threads, is not idle. Only of a task that has no habits yet a main
thread that does not wake for long is worth a look, too, whatever computes meanwhile.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from holdfast.model.habit import Habit

IDLE_CORES = 0.03  # a process that only waits uses less
IDLE_PART = 0.1  # of what it usually uses: the rest of a program that only polls
MAIN_CORES = 0.02  # by its main thread alone
WAKES_PART = 0.1  # of its usual wake-ups: those that remain are not those of its steps
KNOWN_S, UNKNOWN_S = 2.5, 3.0  # shortest spell that is worth a word, with a habit and without
WAKING_S = 15.0  # without a habit, of one that wakes now and then: it may take light steps
BURST_S = 0.001  # on a core, after it rested: a step, however light; a poll takes less
ASLEEP_S = 8.0  # the same of a main thread that does not wake, while its process computes
PATIENCE = 1.25  # of the longest spell before
LOOKS_KEPT = 61
LOOKS_KNOWN = 5  # of a task that trains: fewer are no habit


def does_nothing(*, cores: float, main_cores: float, wakes: int) -> bool:
    """Whether a task of which no habit is known did nothing at all over some seconds."""
    return cores < IDLE_CORES and main_cores < MAIN_CORES and wakes == 0


@dataclass(frozen=True, slots=True)
class Spell:
    """A time in which a task did nothing."""

    since_s: float
    idle_s: float
    usual_s: float  # the longest before; 0: there is no habit yet
    unstepped: bool = False  # it moves, and takes no step


@dataclass(slots=True)
class Idleness:
    """Fed with every look at one task."""

    look_s: float = 1.0
    _habit: Habit = field(init=False)
    _cores: deque[float] = field(default_factory=lambda: deque(maxlen=LOOKS_KEPT))
    _at_s: float = 0.0
    _woke_s: float | None = None  # when its main thread last woke, in time that it could run
    _wakes: bool = False  # now and then, in the time in which it does nothing
    _rested: bool = False  # its main thread did not wake before the last look
    _looks: int = 0  # since it trains
    _held: bool = False

    def __post_init__(self) -> None:
        self._habit = Habit(self.look_s)

    def see(
        self,
        at_s: float,
        *,
        cores: float,
        main_cores: float,
        wakes_per_s: float,
        usual_wakes_per_s: float,
        begun: bool,
        stepped: bool = False,
        held: bool = False,
        late_s: float = 0.0,
    ) -> None:
        """What one look saw. `held`: somebody of this job is stopped, which is nobody's habit.

        Who took a step was not idle, however little that costs.
        """
        if begun and not self._looks:
            # Starts teach nothing, nor does the pause that the first step ended.
            self._habit, self._held = Habit(self.look_s, last_s=self._habit.last_s), True
        self._looks += begun
        ran_s, self._at_s = main_cores * (at_s - self._at_s), at_s
        burst = self._looks < LOOKS_KNOWN and self._rested and ran_s >= BURST_S
        self._rested = wakes_per_s == 0
        if self._woke_s is None or wakes_per_s > 0 or stepped or begun:
            self._woke_s = at_s
        self._woke_s = min(at_s, self._woke_s + late_s)
        if late_s > 0:
            self._habit.observed_late(late_s, at_s)
        self._held |= held
        if self._habit.last_s is None:
            self._habit.went_on(at_s)
        rests = usual_wakes_per_s > 0 and wakes_per_s < WAKES_PART * usual_wakes_per_s
        rests = rests or wakes_per_s == 0 or cores < IDLE_PART * self._usual_cores()
        idle = cores < IDLE_CORES and main_cores < MAIN_CORES and rests
        idle = idle and not (stepped or burst)
        if not idle:
            if self._held:
                self._habit.went_on(at_s)
            else:
                self._habit.moved(at_s)
            self._held = held
            self._cores.append(cores)
        self._wakes = idle and (self._wakes or wakes_per_s > 0)

    def spell(
        self, patience: float = 1.0, *, is_left: bool = False, is_told: bool = False
    ) -> Spell | None:
        """The time that it does nothing by now, if it never did so for as long before.

        `is_left`: all others have ended, and its habits among them count no more.
        `is_told`: the spell was told, and our own late looks do not prove that it is over.
        """
        known = self._looks >= LOOKS_KNOWN and not is_left
        usual_s = self._habit.longest_s(self._at_s) if known else 0.0
        idle_s = self._habit.still_s(self._at_s)
        floor_s = KNOWN_S if usual_s else WAKING_S if self._wakes else UNKNOWN_S
        limit_s = max(floor_s * patience, PATIENCE * usual_s + self.look_s)
        asleep_s = self._at_s - self._woke_s if self._woke_s is not None else 0.0
        late_s = 0.0 if is_told else self._habit.late_s(self._at_s)
        if idle_s >= limit_s + late_s:
            return Spell(self._at_s - idle_s, idle_s, usual_s)
        if asleep_s >= ASLEEP_S * patience:
            return Spell(self._at_s - asleep_s, asleep_s, 0.0)
        return None

    def _usual_cores(self) -> float:
        return _median(self._cores) if len(self._cores) >= LOOKS_KNOWN else 0.0


def _median(values: Sequence[float]) -> float:
    return sorted(values)[len(values) // 2]

"""What a task exchanges with the others: who trains with them does so in every step.

A main thread that only polls may wake as often as one that trains, and one that trains may sleep
for most of each step. The bytes on its connections tell them apart, whatever its program prints.
"""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field

from holdfast.model.cluster import TaskId
from holdfast.model.habit import Habit
from holdfast.model.idleness import Spell

LOOK_S = 3.0  # between two counts
QUIET_PART, FLOWS_PART = 0.1, 0.5  # of its usual rate: what remains are heartbeats; it goes on
LEAST_PER_S = 500.0  # bytes: heartbeats are less
RATES_KEPT, RATES_KNOWN = 31, 2
FLOWS_COUNTS = 3  # in a row
BEHIND_S = 8.0  # it exchanges next to nothing, while those that train beside it go on


@dataclass(slots=True)
class Traffic:
    """Fed with every count of a task's connections."""

    _habit: Habit = field(default_factory=lambda: Habit(LOOK_S))
    _rates: deque[float] = field(default_factory=lambda: deque(maxlen=RATES_KEPT))
    _last: deque[float] = field(default_factory=lambda: deque(maxlen=FLOWS_COUNTS))
    _held: bool = False
    _level_s: float | None = None  # when it last exchanged about as much as the others
    _is_behind: bool = False

    def see(
        self, at_s: float, bytes_per_s: float, *, held: bool = False, others_per_s: float = 0.0
    ) -> None:
        """`held`: somebody of this job is stopped: a pause now is nobody's habit.

        `others_per_s`: what those that train beside it exchanged meanwhile.
        """
        self._held |= held
        self._last.append(bytes_per_s)
        self._compare(at_s, bytes_per_s, others_per_s)
        least = QUIET_PART * self._usual() if self.is_known else 0.0
        if bytes_per_s <= 0 or bytes_per_s < least or self._is_no_habit(bytes_per_s):
            return
        self._rates.append(bytes_per_s)
        if self._held:
            self._habit.went_on(at_s)
        else:
            self._habit.moved(at_s)
        self._held = held

    def observed_late(self, late_s: float, at_s: float) -> None:
        self._habit.observed_late(late_s, at_s)
        if self._level_s is not None:
            self._level_s = min(self._level_s + late_s, at_s)

    @property
    def is_known(self) -> bool:
        return len(self._rates) >= RATES_KNOWN

    @property
    def flows(self) -> bool:
        """Whether it lately exchanged what it usually does, all the time."""
        least = FLOWS_PART * self._usual() if self.is_known else 0.0
        return bool(self._last) and min(self._last) >= max(LEAST_PER_S, least)

    @property
    def is_quiet(self) -> bool:
        """Whether it exchanged next to nothing of late."""
        return self.is_known and self._last[-1] < QUIET_PART * self._usual()

    def spell(self, at_s: float, patience: float = 1.0, *, is_told: bool = False) -> Spell | None:
        """For how long it has exchanged nothing, if it never did so for as long before.

        Of one whose habit nobody knows yet: while the others beside it did.
        """
        if not self.is_known:
            return self._spell_behind(at_s, patience)
        quiet_s = self._habit.still_s(at_s)
        limit_s = self._habit.limit_s(at_s, is_told=is_told) * patience
        if quiet_s <= limit_s:
            return None
        usual_s = self._habit.usual_s(at_s)
        return Spell(at_s - quiet_s, quiet_s, usual_s, unstepped=True)

    def _compare(self, at_s: float, bytes_per_s: float, others_per_s: float) -> None:
        self._is_behind = others_per_s >= LEAST_PER_S and bytes_per_s < QUIET_PART * others_per_s
        if bytes_per_s >= LEAST_PER_S and not self._is_behind:
            self._level_s = at_s

    def _is_no_habit(self, bytes_per_s: float) -> bool:
        """Whether it is what comes before and after the steps that the others take: heartbeats.

        One that always exchanges less than they do has a habit of its own.
        """
        few = self._level_s is not None or bytes_per_s < LEAST_PER_S
        return self._is_behind and few and not self.is_known

    def _spell_behind(self, at_s: float, patience: float) -> Spell | None:
        if self._level_s is None or not self._is_behind:
            return None
        behind_s = at_s - self._level_s
        if behind_s <= BEHIND_S * patience:
            return None
        return Spell(self._level_s, behind_s, 0.0, unstepped=True)

    def _usual(self) -> float:
        return sorted(self._rates)[(len(self._rates) - 1) // 2]


def beside(task: TaskId, rates: Mapping[TaskId, float]) -> float:
    """What the others exchange: the lower middle of them; 0: nobody trains beside it."""
    others = sorted(rate for other, rate in rates.items() if other != task)
    return others[(len(others) - 1) // 2] if others else 0.0

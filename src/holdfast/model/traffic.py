"""What a task exchanges with the others: who trains with them does so in every step.

A main thread that only polls may wake as often as one that trains, and one that trains may sleep
for most of each step. The bytes on its connections tell them apart, whatever its program prints.
"""

from collections import deque
from dataclasses import dataclass, field

from holdfast.model.habit import Habit
from holdfast.model.idleness import Spell

LOOK_S = 3.0  # between two counts
QUIET_PART, FLOWS_PART = 0.1, 0.5  # of its usual rate: what remains are heartbeats; it goes on
LEAST_PER_S = 500.0  # bytes: heartbeats are less
RATES_KEPT, RATES_KNOWN = 31, 2
FLOWS_COUNTS = 3  # in a row


@dataclass(slots=True)
class Traffic:
    """Fed with every count of a task's connections."""

    _habit: Habit = field(default_factory=lambda: Habit(LOOK_S))
    _rates: deque[float] = field(default_factory=lambda: deque(maxlen=RATES_KEPT))
    _last: deque[float] = field(default_factory=lambda: deque(maxlen=FLOWS_COUNTS))
    _held: bool = False

    def see(self, at_s: float, bytes_per_s: float, *, held: bool = False) -> None:
        """`held`: somebody of this job is stopped: a pause now is nobody's habit."""
        self._held |= held
        self._last.append(bytes_per_s)
        if bytes_per_s <= 0 or (self.is_known and bytes_per_s < QUIET_PART * self._usual()):
            return
        self._rates.append(bytes_per_s)
        if self._held:
            self._habit.went_on(at_s)
        else:
            self._habit.moved(at_s)
        self._held = held

    def observed_late(self, late_s: float, at_s: float) -> None:
        self._habit.observed_late(late_s, at_s)

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
        """For how long it has exchanged nothing, if it never did so for as long before."""
        quiet_s = self._habit.still_s(at_s)
        limit_s = self._habit.limit_s(at_s, is_told=is_told) * patience
        if not self.is_known or quiet_s <= limit_s:
            return None
        usual_s = self._habit.usual_s(at_s)
        return Spell(at_s - quiet_s, quiet_s, usual_s, unstepped=True)

    def _usual(self) -> float:
        return sorted(self._rates)[(len(self._rates) - 1) // 2]

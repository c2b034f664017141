"""How long a task usually pauses between two signs of progress, and when that is too long.

A failure detector with an adaptive threshold. The phi-accrual detector was tried on paper and
left: it takes gaps for normally distributed. One evaluation of 60 s among gaps of 1 s makes its
deviation so large that nothing is told for minutes, and the same evaluation is forgotten as soon
as it leaves the window, and so is an alarm the next time. Its threshold is a probability, too,
while what we must keep is a bound in the task's own steps, from above and from below.

So two things are kept apart:
- the pace: median of recent gaps, and the deviation of their logarithms from it. Training steps
  vary by factors, and a logarithm makes a heavy tail light. A lone outlier moves neither much.
- the pauses: the longest gaps ever seen, each halved every hour. A checkpoint or an evaluation
  that was seen once is known; how long it takes varies much less than how often it comes.
"""

import math
from collections import deque
from dataclasses import dataclass, field

FLOOR_S = 5.0  # nothing shorter is worth a word: a busy host delays everybody by seconds
STEPS_PATIENCE = 2.5  # of its own steps, where these are even: two may be missed, three not
DEVIATIONS = 4.5
PAUSE_PATIENCE = 1.25  # of a pause that is known
GAPS_FEW = 3  # fewer than these are a guess at a habit: it gets twice the floor, and three gaps
FEW_FLOOR_S, FEW_PATIENCE = 10.0, 3.0
PAUSES_KEPT_MAX = 8
PAUSE_HALVED_S = 3600.0
RECENT_GAPS = 31
OUTLIER = 3.0  # a gap that is longer than this times the usual one counts as this many
LATE_REMEMBERED_S = 30.0


@dataclass(slots=True)
class Habit:
    """Fed with when a task was seen to move; knows how long it may be still.

    `look_s` is how far apart looks are: a gap is not known more exactly than that.
    """

    look_s: float = 1.0
    last_s: float | None = None  # the last sign of progress
    gaps: int = 0
    _recent: deque[float] = field(default_factory=lambda: deque(maxlen=RECENT_GAPS))
    _pauses: list[tuple[float, float]] = field(default_factory=list)  # length, when it was seen
    _late_s: float = 0.0
    _late_until_s: float = -math.inf

    def moved(self, at_s: float) -> None:
        """A sign of progress was seen, some time since the look before."""
        if self.last_s is not None and at_s > self.last_s:
            self._learn(at_s - self.last_s, at_s)
        self.last_s = at_s

    def went_on(self, at_s: float) -> None:
        """A sign, after a pause that is no habit of its own: it teaches nothing."""
        self.last_s = at_s

    def observed_late(self, late_s: float, at_s: float) -> None:
        """We did not look for so long: that time is ours, and the next looks may be late, too."""
        if self.last_s is not None:
            self.last_s = min(self.last_s + late_s, at_s)
        self._late_s = max(late_s, self._late_s if at_s < self._late_until_s else 0.0)
        self._late_until_s = at_s + LATE_REMEMBERED_S

    def still_s(self, at_s: float) -> float:
        return 0.0 if self.last_s is None else max(0.0, at_s - self.last_s)

    @property
    def is_known(self) -> bool:
        """Whether there is a habit at all."""
        return self.gaps > 0

    @property
    def pace_s(self) -> float:
        """The usual gap between two signs; 0 as long as there is no habit."""
        if not self.is_known:
            return 0.0
        return sorted(self._recent)[len(self._recent) // 2]

    def usual_s(self, at_s: float) -> float:
        """The longest pause that it usually makes; 0 as long as there is no habit."""
        if not self.is_known:
            return 0.0
        return max(self.pace_s, self.longest_s(at_s))

    def longest_s(self, at_s: float) -> float:
        """The longest pause that it ever made; one of an hour ago counts half."""
        return max((_faded(pause, at_s) for pause in self._pauses), default=0.0)

    def late_s(self, at_s: float) -> float:
        """How late our own looks were lately: so much more patience is due."""
        return self._late_s if at_s < self._late_until_s else 0.0

    def limit_s(self, at_s: float, *, is_told: bool = False) -> float:
        """How long it must be still before that is worth a word; infinite without a habit.

        Of a stillness that was told our own late looks prove no end.
        """
        if not self.is_known:
            return math.inf
        late_s = 0.0 if is_told else self.late_s(at_s)
        if self.gaps < GAPS_FEW:
            return max(FEW_FLOOR_S, FEW_PATIENCE * self.longest_s(at_s)) + late_s
        pace_s, longest_s = self.pace_s, self.longest_s(at_s)
        uneven_s = pace_s * math.exp(DEVIATIONS * self._deviation(pace_s))
        limit_s = max(
            FLOOR_S,
            pace_s * STEPS_PATIENCE,
            min(uneven_s, longest_s * FEW_PATIENCE),  # however uneven, there is a longest
            longest_s * PAUSE_PATIENCE + self.look_s,
        )
        return limit_s + late_s

    def is_still(self, at_s: float, *, is_told: bool = False) -> bool:
        return self.still_s(at_s) > self.limit_s(at_s, is_told=is_told)

    def _learn(self, gap_s: float, at_s: float) -> None:
        self.gaps += 1
        self._recent.append(gap_s)
        self._pauses.append((gap_s, at_s))
        self._pauses.sort(key=lambda pause: -_faded(pause, at_s))
        del self._pauses[PAUSES_KEPT_MAX:]

    def _deviation(self, pace_s: float) -> float:
        """Of the logarithms of gaps, as far as looks that are so far apart can tell."""
        most = math.log(OUTLIER)
        offs = (
            min(
                most,
                math.log(max(1.0, (gap_s - self.look_s) / pace_s, pace_s / (gap_s + self.look_s))),
            )
            for gap_s in self._recent
        )
        return math.sqrt(sum(off * off for off in offs) / len(self._recent))


def _faded(pause: tuple[float, float], at_s: float) -> float:
    length_s, seen_s = pause
    return length_s * float(0.5 ** (max(0.0, at_s - seen_s) / PAUSE_HALVED_S))

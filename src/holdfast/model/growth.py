"""How fast something grows, and when it will have reached its limit."""

from collections import deque
from dataclasses import dataclass
from itertools import pairwise

POINTS_MIN = 5
POINTS_MAX = 32
OVER_S_MIN = 10.0
QUARTER_SHARE = 0.3  # of its part of the growth that each quarter of the time must bring


@dataclass(frozen=True, slots=True)
class Growth:
    """Over `over_s`, in units a second; negative where it shrinks."""

    per_s: float
    over_s: float
    is_steady: bool  # it goes on all the time, not only at its beginning or end

    def left_s(self, room: float) -> float | None:
        """Until `room` is gone; None where it does not grow."""
        return room / self.per_s if self.per_s > 0 else None


class Track:
    """The last points of a quantity over time, a bounded number of them."""

    def __init__(self, *, over_s_max: float = 30.0) -> None:
        self._over_s_max = over_s_max
        self._points: deque[tuple[float, float]] = deque(maxlen=POINTS_MAX)

    def add(self, at_s: float, amount: float) -> None:
        self._points.append((at_s, amount))
        while at_s - self._points[0][0] > self._over_s_max:
            self._points.popleft()

    @property
    def last(self) -> float | None:
        """The newest amount; None before there is any."""
        return self._points[-1][1] if self._points else None

    def growth(self) -> Growth | None:
        """None before there are enough points over enough time."""
        if len(self._points) < POINTS_MIN:
            return None
        (first_s, first), (last_s, last) = self._points[0], self._points[-1]
        if last_s - first_s < OVER_S_MIN:
            return None
        total = last - first
        quarters = [later - sooner for sooner, later in pairwise(self._at_quarters())]
        # What jumped once, or has stopped, will not go on.
        is_steady = all(step * total > 0 for step in quarters) and all(
            abs(step) >= QUARTER_SHARE * abs(total) / len(quarters) for step in quarters
        )
        return Growth(total / (last_s - first_s), last_s - first_s, is_steady)

    def _at_quarters(self) -> list[float]:
        """The amounts at the beginning, after each quarter of the time, and at the end."""
        first_s, last_s = self._points[0][0], self._points[-1][0]
        marks_s = [first_s + (last_s - first_s) * quarter / 4 for quarter in range(5)]
        return [
            next(amount for at_s, amount in reversed(self._points) if at_s <= mark_s)
            for mark_s in marks_s
        ]

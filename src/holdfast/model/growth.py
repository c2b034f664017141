"""How fast something grows, and when it will have reached its limit."""

from collections import deque
from dataclasses import dataclass
from itertools import pairwise

POINTS_MIN = 5
POINTS_MAX = 32
OVER_S_MIN = 10.0
STEADY_SHARE = 0.7  # of the steps between two points that must not go back


@dataclass(frozen=True, slots=True)
class Growth:
    """Over `over_s`, in units a second; negative where it shrinks."""

    per_s: float
    over_s: float
    is_steady: bool  # most of its steps go the same way

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

    def growth(self) -> Growth | None:
        """None before there are enough points over enough time."""
        if len(self._points) < POINTS_MIN:
            return None
        (first_s, first), (last_s, last) = self._points[0], self._points[-1]
        if last_s - first_s < OVER_S_MIN:
            return None
        amounts = [amount for _, amount in self._points]
        steps = [later - sooner for sooner, later in pairwise(amounts)]
        grows = last > first
        same_way = sum((step >= 0) if grows else (step <= 0) for step in steps)
        half = len(amounts) // 2
        # What grew in its first half only has stopped growing.
        goes_on = (last > amounts[half]) if grows else (last < amounts[half])
        is_steady = same_way >= STEADY_SHARE * len(steps) and goes_on
        return Growth((last - first) / (last_s - first_s), last_s - first_s, is_steady)

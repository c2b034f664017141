"""What becomes of a loss that a program tells: whether it is still a number, and of use."""

from collections import deque
from dataclasses import dataclass, field

from holdfast.model.middle import median

FINE, NAN, DIVERGED = "fine", "nan", "diverged"
SURE_TELLS = 3  # in a row: one may be a single batch
KEPT = 5  # the median of so many: one bad batch is no divergence
DIVERGED_BY = 10.0  # times what it was before anything was learnt, and times its best


@dataclass(slots=True)
class LossCourse:
    """The course of one loss, told by told."""

    state: str = FINE
    first: float | None = None  # the median of the first few
    best: float = 0.0
    now: float = 0.0
    tells: int = 0  # in a row with this state
    since_step: int = -1
    _last: deque[float] = field(default_factory=lambda: deque(maxlen=KEPT))

    def see(self, step: int, loss: float | None) -> None:
        """None: it is not a number, or infinite."""
        state = NAN if loss is None else self._with(loss)
        if state != self.state:
            self.state, self.tells, self.since_step = state, 0, step
        self.tells += 1

    def _with(self, loss: float) -> str:
        self._last.append(loss)
        if len(self._last) < KEPT:
            return FINE
        self.now = median(self._last)
        if self.first is None:
            self.first = self.best = self.now
        self.best = min(self.best, self.now)
        # Below zero nothing is known of how far it may go.
        worse = self.first > 0 and self.now >= DIVERGED_BY * max(self.first, self.best)
        return DIVERGED if worse else FINE

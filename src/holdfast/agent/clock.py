"""The attempt's clock: seconds since it began, the same in every process of this host."""

import time
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Clock:
    """Monotonic: a wall clock that jumps does not move it."""

    zero_s: float

    def at_s(self) -> float:
        return round(time.monotonic() - self.zero_s, 6)

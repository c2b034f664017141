"""Who keeps the others waiting, step after step.

In lockstep all tasks have the same step time, so the slow one is the one that does not wait: its
main thread works, or sleeps in its own code, while the others wait to be woken. Where tasks do
not wait for each other, their main threads simply wake less often than those of the others.
"""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field

from holdfast.model.cluster import TaskId
from holdfast.model.middle import median

LOOKS_MIN, LOOKS_MAX = 20, 300
WAKES_MIN = 40  # twenty steps, where each has two
LASTING_LOOKS = 10
LASTING_S = 10.0
TOGETHER = 1.5  # wake-ups of tasks in lockstep differ by less than this factor
FACTOR_MIN = 2.0
UNLIKE_BEFORE = 2.0  # of its own share of the wake-ups, as it was at first
FACTOR_ALONE = 4.0  # enough without knowing how it was at first
DOING_MIN, APART = 0.5, 0.4  # of the time
DOING_LEAST = 0.03
PAUSE_S, PAUSE_PACES = 3.0, 3.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What one look saw of the main thread of a task that trains."""

    wakes: int
    over_s: float  # since the look before
    doing: float  # 0 to 1: whether it worked rather than waited
    pace_s: float  # the usual gap between looks that see it wake


@dataclass(frozen=True, slots=True, kw_only=True)
class Slow:
    """How slow it is; times are those of its own work between two wake-ups."""

    factor: float
    own_s: float
    others_s: float
    together: bool  # whether the others go at its pace
    wakes_per_s: float


@dataclass(slots=True)
class _Window:
    looks: deque[Work] = field(default_factory=deque)
    # Sums over these looks.
    wakes: int = 0
    over_s: float = 0.0
    done: float = 0.0
    woke_s: float = 0.0
    slow_looks: int = 0
    slow_since_s: float = 0.0
    at_first: float = 0.0  # its wake-ups, as a share of the others'

    def see(self, work: Work) -> None:
        """As few looks as are needed: what it was like before does not count."""
        self._count(work, 1)
        self.looks.append(work)
        while len(self.looks) > LOOKS_MAX or (
            len(self.looks) > LOOKS_MIN and self.wakes - self.looks[0].wakes >= WAKES_MIN
        ):
            self._count(self.looks.popleft(), -1)

    def forget(self) -> None:
        self.looks.clear()
        self.wakes, self.over_s, self.done, self.slow_looks = 0, 0.0, 0.0, 0

    def _count(self, work: Work, sign: int) -> None:
        self.wakes += sign * work.wakes
        self.over_s += sign * work.over_s
        self.done += sign * work.doing

    @property
    def is_full(self) -> bool:
        enough = self.wakes >= WAKES_MIN or len(self.looks) == LOOKS_MAX
        return enough and len(self.looks) >= LOOKS_MIN

    @property
    def rate(self) -> float:
        return self.wakes / self.over_s

    @property
    def doing(self) -> float:
        return max(DOING_LEAST, self.done / len(self.looks))


@dataclass(slots=True)
class Straggling:
    """Fed with one look at all tasks that train; knows who has been slow for long enough."""

    _windows: dict[TaskId, _Window] = field(default_factory=dict)

    def see(self, at_s: float, works: Mapping[TaskId, Work]) -> dict[TaskId, Slow]:
        if works.keys() != self._windows.keys():
            self._windows = {task: _Window(woke_s=at_s) for task in works}
        for task, work in works.items():
            self._windows[task].see(work)
            if work.wakes:
                self._windows[task].woke_s = at_s
        if any(self._pauses(at_s, task, work) for task, work in works.items()):
            self.forget()
        if len(works) < 2 or not self.knows:  # noqa: PLR2004 - one alone is not slow
            return {}
        return dict(self._lasting(at_s, self._slow_now()))

    @property
    def knows(self) -> bool:
        """Whether it has seen enough since the last pause."""
        return bool(self._windows) and all(one.is_full for one in self._windows.values())

    def is_over(self, task: TaskId) -> bool:
        """Whether enough was seen to say that it is not slow, or no longer."""
        return self.knows and task in self._windows and not self._windows[task].slow_looks

    def forget(self) -> None:
        """A pause of all, such as an evaluation: those who wait for it are not fast."""
        for window in self._windows.values():
            window.forget()

    def _pauses(self, at_s: float, task: TaskId, work: Work) -> bool:
        return at_s - self._windows[task].woke_s > max(PAUSE_S, PAUSE_PACES * work.pace_s)

    def _slow_now(self) -> dict[TaskId, Slow]:
        rates = {task: window.rate for task, window in self._windows.items()}
        if not all(rates.values()):
            return {}
        found = {}
        for task, window in self._windows.items():
            others = [one for name, one in self._windows.items() if name != task]
            usual = median(rates[name] for name in rates if name != task)
            share = rates[task] / usual
            window.at_first = window.at_first or share
            if 1 / TOGETHER <= share <= TOGETHER:
                slow = _slow_together(window, others)
            else:
                slow = _slow_apart(share, rates[task], window.at_first)
            if slow:
                found[task] = slow
        # When most are slow, it is the rest that is fast.
        return found if 2 * len(found) <= len(rates) else {}

    def _lasting(self, at_s: float, slow_now: dict[TaskId, Slow]) -> list[tuple[TaskId, Slow]]:
        lasting = []
        for task, window in self._windows.items():
            if task not in slow_now:
                window.slow_looks = 0
                continue
            if not window.slow_looks:
                window.slow_since_s = at_s
            window.slow_looks += 1
            if window.slow_looks > LASTING_LOOKS and at_s - window.slow_since_s >= LASTING_S:
                lasting.append((task, slow_now[task]))
        return lasting


def _slow_together(own: _Window, others: list[_Window]) -> Slow | None:
    usual = median(other.doing for other in others)
    most = max(other.doing for other in others)
    factor = own.doing / usual
    if own.doing < DOING_MIN or own.doing - most < APART or factor < FACTOR_MIN:
        return None
    return Slow(
        factor=factor,
        own_s=own.doing / own.rate,
        others_s=usual / own.rate,
        together=True,
        wakes_per_s=own.rate,
    )


def _slow_apart(share: float, rate: float, at_first: float) -> Slow | None:
    """Main threads of one program wake equally often in a step; a chief's may differ a little."""
    factor = 1 / share
    has_changed = at_first / share >= UNLIKE_BEFORE
    if factor < (FACTOR_MIN if has_changed else FACTOR_ALONE):
        return None
    return Slow(
        factor=factor, own_s=1 / rate, others_s=share / rate, together=False, wakes_per_s=rate
    )

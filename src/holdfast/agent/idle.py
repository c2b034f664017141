"""Tells when a task has nothing left to do: no CPU, no output, no timer, for some seconds."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from holdfast.probes.process import Children, descendants, stat_of, wait_without_timer
from holdfast.probes.usage import thread_use

TELL_EVERY_S = 5.0
IDLE_BLIND_S = 45.0  # where /proc does not show timers: longer than TensorFlow's 30 s sleeps
CPU_SHARE_MAX = 0.02
# Who wants a core for so much of the time and gets none has work to do: it is starved, not idle.
# What only polls waits less than that for each of its moments.
WANTED_SHARE_MAX = 0.3


@dataclass(slots=True)
class IdleWatch:
    pid: int
    output_bytes: Callable[[], int]
    timers_count: bool  # whether a task that sleeps on a timer counts as busy
    idle_s: float  # for how long, before it is worth telling
    told_s: float = float("-inf")
    since_s: float = -1.0
    looked_s: float = -1.0
    cpu_s: float = 0.0
    wanted_s: float = 0.0  # a core, and got none
    ready: Mapping[int, float] = field(default_factory=dict)  # who would run -> on a core so far
    bytes_seen: int = -1
    blind: bool = False

    @property
    def is_idle(self) -> bool:
        """As of the last look."""
        return self.since_s >= 0 and self.looked_s - self.since_s >= self.idle_s

    def look(self, at_s: float, children: Children) -> float | None:
        """For how long the task has been idle, once that is worth telling, and then again."""
        own = stat_of(self.pid)
        if own is None:
            return None
        tree = [own, *descendants(self.pid, children)]
        cpu_s = sum(process.cpu_s for process in tree)
        uses = {process.pid: thread_use(process.pid) for process in tree}
        wanted_s = sum(use.wanted_s for use in uses.values() if use)
        ready = {
            process.pid: use.on_core_s
            for process in tree
            if process.state == "R" and (use := uses[process.pid])
        }
        bytes_now = self.output_bytes()
        elapsed_s = at_s - self.looked_s
        busy = cpu_s - self.cpu_s > CPU_SHARE_MAX * elapsed_s or bytes_now != self.bytes_seen
        busy = busy or wanted_s - self.wanted_s > WANTED_SHARE_MAX * elapsed_s
        # The kernel counts that only when they get a core at last.
        busy = busy or bool(ready.items() & self.ready.items())
        if self.timers_count and not busy:
            waiting = wait_without_timer([process.pid for process in tree])
            self.blind = self.blind or waiting is None
            busy = waiting is False
        if busy or self.looked_s < 0 or self.since_s < 0:
            self.since_s = at_s
        self.looked_s, self.bytes_seen = at_s, bytes_now
        self.cpu_s, self.wanted_s, self.ready = cpu_s, wanted_s, ready
        idle_s = at_s - self.since_s
        needed_s = max(self.idle_s, IDLE_BLIND_S) if self.blind else self.idle_s
        if idle_s < needed_s or at_s - self.told_s < TELL_EVERY_S:
            return None
        self.told_s = at_s
        return idle_s

"""What is known of one task's progress, and what was told of it."""

from collections import deque
from dataclasses import dataclass, field

from holdfast.model.idleness import Idleness, Spell
from holdfast.model.movement import Movement, Stillness
from holdfast.model.steps import UNTOLD, Steps
from holdfast.model.straggling import Work
from holdfast.model.traffic import Traffic
from holdfast.probes.progress import Left, Output, Traces
from holdfast.probes.rhythm import Rhythm

STILL_AGAIN_S = 5.0


@dataclass(slots=True)
class TaskProgress:
    """What is known of one task's process, and what was told of it."""

    pid: int
    movement: Movement
    output: Output = field(default_factory=Output)
    traces: Traces = field(default_factory=Traces)
    steps: Steps = UNTOLD
    step: int = -1  # the furthest that any source has told
    source: str = ""
    left: Left = field(default_factory=Left)
    rhythm: Rhythm | None = None
    cpu_s: float = 0.0
    work: Work | None = None  # what the last look saw, of a task that trains
    slow_told_s: float | None = None
    looked_s: float = 0.0
    traced_s: float = float("-inf")
    still: Stillness | None = None  # as of the last look
    doubt: Stillness | None = None  # the same, with half of the patience
    still_told_s: float | None = None
    still_again_s: float = STILL_AGAIN_S
    longest_s: float = 0.0  # of the stillness that was told
    idleness: Idleness = field(default_factory=Idleness)
    traffic: Traffic = field(default_factory=Traffic)
    spell: Spell | None = None  # in which it does nothing, as of the last look
    spell_doubt: Spell | None = None  # the same, with half of the patience
    waits_told_s: float | None = None
    waits_again_s: float = STILL_AGAIN_S
    pace: deque[tuple[float, int]] = field(default_factory=lambda: deque(maxlen=64))
    steps_told_s: float | None = None
    step_told: int = -1
    step_s_told: float = 0.0
    best_step_s: float = 0.0  # over some seconds; 0: not known yet
    slowed_s: float | None = None  # since when its steps take much longer than that

    def step_s(self) -> float:
        """How long a step takes, by those that were told lately; 0: nobody knows."""
        if not self.pace:
            return 0.0
        (first_s, first), (last_s, last) = self.pace[0], self.pace[-1]
        return (last_s - first_s) / (last - first) if last > first else 0.0

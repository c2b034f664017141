"""The newest step that each task has printed, read from the ends of its logs."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from holdfast.model.cluster import TaskId
from holdfast.model.steps import UNTOLD, Steps, steps_told
from holdfast.probes.progress import Output

LOOK_EVERY_S = 1.0  # of each task
TASKS_A_LOOK_MAX = 8  # what a status line can show; the others have their turn a moment later


@dataclass(slots=True)
class _Printed:
    output: Output = field(default_factory=Output)
    steps: Steps = UNTOLD
    looked_s: float = float("-inf")
    is_new: bool = False  # what is in its logs by now was written by the process before it


class PrintedSteps:
    """At most 8 KiB of a log are read at a time: the newest step stands at its end."""

    def __init__(self) -> None:
        self._printed: dict[TaskId, _Printed] = {}

    def begin_anew(self, task: TaskId) -> None:
        """The task was started again: its steps begin anew, in the same logs."""
        if known := self._printed.get(task):
            known.is_new = True

    def look(
        self, streams: Mapping[TaskId, Mapping[str, int]], at_s: float
    ) -> Iterator[tuple[TaskId, int]]:
        """The tasks that have gone on, with the step they have come to."""
        looked = 0
        for task, fds in streams.items():
            known = self._printed.setdefault(task, _Printed())
            if known.is_new:
                known.output.new(fds)
                known.steps, known.is_new = UNTOLD, False
            if looked == TASKS_A_LOOK_MAX or at_s - known.looked_s < LOOK_EVERY_S:
                continue
            known.looked_s, looked = at_s, looked + 1
            before = known.steps.step
            for piece in known.output.new(fds):
                known.steps = steps_told(piece, known.steps)
            if known.steps.step > before:
                yield task, known.steps.step

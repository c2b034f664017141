"""What the tasks of a job wrote down of their own steps and checkpoints: bench/workloads/notes."""

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    task: str
    at: float  # Unix time
    what: str  # begins, step, saving, saved
    step: int
    attempt: int
    pid: int
    loss: float = 0.0


class WrittenDown:
    """The lines of all tasks; `look` reads what is new."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._read: dict[Path, int] = {}
        self.lines: list[Line] = []

    def look(self) -> None:
        for path in sorted(self._folder.glob("*.jsonl")):
            role, _, index = path.stem.rpartition("-")
            with path.open("rb") as file:
                file.seek(self._read.get(path, 0))
                fresh = file.read()
            whole = fresh[: fresh.rfind(b"\n") + 1]
            self._read[path] = self._read.get(path, 0) + len(whole)
            for text in whole.splitlines():
                self.lines.append(Line(task=f"{role}:{index}", **json.loads(text)))
        self.lines.sort(key=lambda line: line.at)

    def of(self, what: str, *, attempt: int | None = None, until_s: float = math.inf) -> list[Line]:
        """What was done of one kind, by an attempt or by all, until a moment."""
        return [
            line
            for line in self.lines
            if line.what == what and attempt in {None, line.attempt} and line.at <= until_s
        ]

    def steps_since_save(self) -> int:
        steps, saves = self.of("step"), self.of("saved")
        reached = max((line.step for line in steps), default=0)
        return reached - max((line.step for line in saves), default=0)

    def reached(self, attempt: int, until_s: float) -> int:
        """How far an attempt had come at a moment."""
        steps = self.of("step", attempt=attempt, until_s=until_s)
        return max((line.step for line in steps), default=0)

    def unfinished_save_s(self, attempt: int, until_s: float) -> float | None:
        """When the save began that was under way at a moment; None: none was."""
        begun = self.of("saving", attempt=attempt, until_s=until_s)
        ended = self.of("saved", attempt=attempt, until_s=until_s)
        under_way = [line for line in begun if line.step not in {save.step for save in ended}]
        return under_way[-1].at if under_way else None

    def second_writers(self) -> Iterator[str]:
        """Whatever an older incarnation of a task did after a newer one had begun."""
        for task in sorted({line.task for line in self.lines}):
            latest = (0, 0)  # the attempt, and which pid of it
            pids: list[int] = []
            for line in self.lines:
                if line.task != task:
                    continue
                if line.pid not in pids:
                    pids.append(line.pid)
                now = (line.attempt, pids.index(line.pid))
                if now < latest:
                    who = f"pid {line.pid} of attempt {line.attempt} of {task}"
                    yield f"{who}: {line.what} {line.step}"
                latest = max(latest, now)

    def saves_out_of_turn(self) -> Iterator[str]:
        """A save by an attempt that was over: a newer one had saved before."""
        newest = 0
        for line in self.of("saved"):
            if line.attempt < newest:
                who = f"{line.task} of attempt {line.attempt}"
                yield f"{who} saved step {line.step} after attempt {newest}"
            newest = max(newest, line.attempt)

    def stood_s(self, since_s: float) -> float:
        """The longest time since a moment in which nobody took a step."""
        times = [line.at for line in self.of("step")]
        before = [at for at in times if at <= since_s][-1:]
        later = [at for at in times if at > since_s]
        return max((b - a for a, b in pairwise([*before, *later])), default=0.0)

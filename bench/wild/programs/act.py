"""What a task does beside its training: its pace, its words, its notes, and what it is chosen for.

The notes are the truth that the judge goes by: `enter K` before anything in which a task may
wait for others in step K, `done K` behind it, and `fault` when the chosen one begins to stand
still, to die or to pause. Step 0 is the making of the cluster.
"""

import json
import os
import random
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import ways_to_die
import ways_to_pause
import ways_to_stand_still

WAYS = {**ways_to_stand_still.WAYS, **ways_to_die.WAYS, **ways_to_pause.WAYS}
FEATURES, BATCH = 4, 16
REPORT_EVERY_S = 0.5
WORDS = {
    "step": "step {step} loss {loss:.3f}",
    "epoch": "Epoch 1/1 - {step}/100000 - loss: {loss:.4f}",
    "bracket": "[{step}] loss={loss:.5f}",
    "words": "Training: iteration {step}, cross entropy {loss:.3f}",
}


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What was composed from the seed, as far as a program must know it."""

    folder: str
    chosen: str
    way: str  # empty: nothing at all happens
    where: str  # loop, thread, input, graph
    phase: str  # start, first, middle, evaluation, save, end
    at_step: int
    pause_s: float
    steps: int
    pace_s: float
    uneven: bool
    computes: bool
    words: str  # empty: it prints no steps
    evaluate_every: int  # steps; 0: never


def read_plan() -> Plan:
    return Plan(**json.loads(Path(sys.argv[1]).read_text()))


class Act:
    """One task of the job."""

    def __init__(self, task: str) -> None:
        self.plan = read_plan()
        self.task = task
        self.is_chosen = task == self.plan.chosen
        self._folder = Path(self.plan.folder)
        notes = self._folder / "notes" / task.replace(":", "-")
        self._notes = os.open(notes, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        self._chance = random.Random(f"{task} {self.plan.pace_s}")
        self._reported_s = 0.0
        self._times_left = WAYS[self.plan.way].for_steps if self.plan.way else 0
        self._graph_calls = 0

    def start(self) -> None:
        """Before the cluster is made."""
        if self.plan.phase == "start":
            self._act()

    def enter(self, step: int) -> None:
        self._note("enter", step)

    def done(self, step: int) -> None:
        self._note("done", step)

    def own_part(self, step: int) -> None:
        """Of a step: what a task does before it needs the others."""
        in_loop = self.plan.where in {"loop", "thread"}
        if in_loop and self.plan.phase in {"first", "middle"} and step >= self.plan.at_step:
            self._act()
        part_s = self.plan.pace_s * (self._chance.uniform(0.3, 1.7) if self.plan.uneven else 1)
        if self.plan.computes:
            ways_to_pause.compute(part_s)
        else:
            time.sleep(part_s)

    def after_step(self, step: int, loss: float) -> None:
        """Words, and now and then an evaluation or a save, on the chosen task alone."""
        self.done(step)
        every = self.plan.evaluate_every
        often = time.monotonic() - self._reported_s >= REPORT_EVERY_S
        if self.plan.words and (often or step == self.plan.steps):
            self._reported_s = time.monotonic()
            print(WORDS[self.plan.words].format(step=step, loss=loss), flush=True)
        if every and step % every == 0 and self.is_chosen:
            self.evaluate(step) if self.plan.phase != "save" else self.save(step)

    def evaluate(self, step: int) -> None:
        ways_to_pause.compute(min(0.2, self.plan.pace_s))
        if self.plan.phase == "evaluation" and step >= self.plan.at_step:
            self._act()

    def save(self, step: int) -> None:
        target = self._folder / f"weights-{self.task.replace(':', '-')}.bin"
        with target.open("wb") as file:
            file.write(os.urandom(1 << 16))
            if step >= self.plan.at_step:
                self._act()

    def end(self) -> None:
        """After the last step."""
        if self.plan.phase == "end":
            self._act()

    def batches(self) -> Iterator[tuple[list[list[float]], list[list[float]]]]:
        """For a dataset made from a generator, in which something may happen."""
        chance = random.Random(self.task)
        number = 0
        while True:
            number += 1
            if self.plan.where == "input" and number >= self.plan.at_step:
                self._act()
            rows = [[chance.gauss(0, 1) for _ in range(FEATURES)] for _ in range(BATCH)]
            yield rows, [[sum(row)] for row in rows]

    def in_graph(self) -> float:
        """Called by the graph itself in each step, where the plan is so."""
        self._graph_calls += 1
        if self.plan.where == "graph" and self._graph_calls >= self.plan.at_step:
            self._act()
        return 0.0

    def serve_until_fault(self) -> None:
        """For a task whose main thread only serves: another thread acts when it is time."""
        if self.is_chosen and self.plan.phase in {"first", "middle"}:
            threading.Thread(target=self._act_later, daemon=True).start()

    def _act_later(self) -> None:
        """Once the job has come so far: whoever drives it notes its steps."""
        notes = self._folder / "notes"
        while True:
            for path in notes.iterdir():
                if f"done {self.plan.at_step} " in path.read_text():
                    self._act()
            time.sleep(0.05)

    def _act(self) -> None:
        if not self.is_chosen or not self._times_left:
            return
        self._times_left -= 1
        way = WAYS[self.plan.way]
        asked = (self._folder, self.plan.pause_s / way.for_steps)
        self._note("fault", self.plan.at_step)
        if self.plan.where == "thread":
            thread = threading.Thread(target=way.do, args=asked)
            thread.start()
            thread.join()
        else:
            way.do(*asked)
        self._note("over", self.plan.at_step)

    def _note(self, what: str, step: int) -> None:
        os.write(self._notes, f"{what} {step} {time.time():.3f}\n".encode())

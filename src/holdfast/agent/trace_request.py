"""Asks a task for a trace of TensorFlow's profiler; whoever asks looks now and then.

Question and answer are files in the run directory: the task's own program takes the one at its
next step, and leaves the other once its trace is written.
"""

import contextlib
import os
import time
from typing import Any

from holdfast.agent.in_task_env import IN_TASK
from holdfast.logdir.run_dir import RunDir
from holdfast.model.cluster import TaskId
from holdfast.model.errors import Unreachable

TAKEN_S_MAX = 15.0  # until a task that makes steps has taken the question
WRITTEN_S_MAX = 60.0  # until its trace is written
FOLDER = "profile"  # of the run directory, in which the traces lie


class TraceRequest:
    """One question to one task. It is asked by making this."""

    def __init__(self, folder: RunDir, task: TaskId, seconds: float) -> None:
        self.task = task
        self.seconds = seconds
        self._folder = folder
        number = os.urandom(8).hex()
        stem = f"{IN_TASK}/{FOLDER}.{_stem(task)}"
        self._question = f"{stem}.request.json"
        self._answer = f"{stem}.{number}.answer.json"
        folder.write_json(self._question, {"id": number, "seconds": seconds})
        self._take_by_s = time.monotonic() + TAKEN_S_MAX
        self._taken_s: float | None = None

    @property
    def is_taken(self) -> bool:
        return self._taken_s is not None

    @property
    def traces(self) -> str:
        """Where its trace lies, for TensorBoard."""
        return str(self._folder.path / FOLDER / _stem(self.task))

    def look(self) -> dict[str, Any] | None:
        """The task's answer; None: not yet. Unreachable, when none will come."""
        now_s = time.monotonic()
        if self._taken_s is None:
            if (self._folder.path / self._question).exists():
                self._give_up_if_late(now_s)
                return None
            self._taken_s = now_s
        answer = self._folder.path / self._answer
        if answer.exists():
            found = self._folder.read_json(self._answer)
            answer.unlink()
            return found if isinstance(found, dict) else {"error": "its answer is none of ours"}
        if now_s > self._taken_s + self.seconds + WRITTEN_S_MAX:
            raise Unreachable(
                f"{self.task} began to record, and wrote no trace within {WRITTEN_S_MAX:g} s after",
                do=f"has it ended? holdfast diagnose {self._folder.path}",
            )
        return None

    def withdraw(self) -> None:
        """Nobody shall take it any more."""
        with contextlib.suppress(OSError):
            (self._folder.path / self._question).unlink()

    def _give_up_if_late(self, now_s: float) -> None:
        if now_s <= self._take_by_s:
            return
        with contextlib.suppress(FileNotFoundError):  # taken just now
            (self._folder.path / self._question).unlink()
            raise Unreachable(
                f"{self.task} has made no step within {TAKEN_S_MAX:g} s that its program tells of",
                do="tell steps by holdfast.tf.Callback, holdfast.tf.Hook or holdfast.progress;"
                " of a task that hangs, see: holdfast stacks",
            )


def _stem(task: TaskId) -> str:
    return f"{task.role}-{task.index}"

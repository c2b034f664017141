"""A real watcher, and programs that run as a task of its job."""

import contextlib
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import pytest

from holdfast.agent.child import Child
from holdfast.agent.in_task_env import in_task_env
from holdfast.agent.watch_order import WatchOrder
from holdfast.logdir.run_dir import create_run_dir
from holdfast.model.cluster import TaskId
from holdfast.model.facts import Fact

WORD_S_MAX = 180.0
STEPS = """
import time
IMPORT
import holdfast
for step in range(100_000):
    STEP
    holdfast.progress(step)
    print(step, flush=True)
    time.sleep(0.02)
"""
TRAINS = STEPS.replace("IMPORT", "import tensorflow as tf").replace(
    "STEP", "tf.matmul(tf.ones((64, 64)), tf.ones((64, 64)))"
)
PLAIN = STEPS.replace("IMPORT", "").replace("STEP", "pass")
FactKind = TypeVar("FactKind", bound=Fact)


class Job:
    """A run directory, whoever watches it, and the programs of its tasks."""

    def __init__(self, path: Path, python: str = sys.executable) -> None:
        self._python = python
        self.run_dir = create_run_dir(path)
        self.run_dir.write_json("run.json", {})
        self.run_dir.make_folder("stacks")
        self.run_dir.make_folder("in-task")
        self.folder = self.run_dir.path / "in-task"
        self.watcher: Child | None = None
        self.facts: list[Fact] = []
        self._unread: list[Fact] = []
        self._running: list[subprocess.Popen[bytes]] = []

    def env(self, task: str = "worker:0", **more: str) -> dict[str, str]:
        quiet = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}
        named = {"HOLDFAST_TASK": task, "HOLDFAST_ATTEMPT": "1"}  # as a plan does
        return {**in_task_env(quiet, self.run_dir.path), **named, **more}

    def watch(self) -> Child:
        zero_s = time.monotonic()
        order = WatchOrder(
            run_dir=str(self.run_dir.path), addresses={}, zero_s=zero_s, host="host-a"
        )
        before = _birth(self.folder / "told.sock")
        self.watcher = Child("holdfast.agent.watch", order, probe="watcher", host="host-a")
        while _birth(self.folder / "told.sock") == before:  # it listens
            time.sleep(0.01)
        return self.watcher

    def start(self, code: str, task: str = "worker:0", **more: str) -> "subprocess.Popen[bytes]":
        """A task; whoever watches hears of it."""
        logs = {
            stream: self.run_dir.create_log(TaskId.parse(task), 1, stream)
            for stream in ("out", "err")
        }
        process = subprocess.Popen(
            [self._python, "-c", code],
            env=self.env(task, **more),
            stdin=subprocess.PIPE,
            stdout=logs["out"],
            stderr=logs["err"],
            start_new_session=True,  # so that its children end with it
        )
        for fd in logs.values():
            os.close(fd)
        self._running.append(process)
        if self.watcher:
            self.watcher.started(TaskId.parse(task), process.pid)
        return process

    def done(
        self, code: str, task: str = "worker:0", **more: str
    ) -> "subprocess.CompletedProcess[str]":
        """A program that runs to its end, with nobody who watches it."""
        return subprocess.run(
            [self._python, "-c", code],
            env=self.env(task, **more),
            capture_output=True,
            text=True,
            check=False,
        )

    def heard(self, kind: type[FactKind], wanted: Callable[[FactKind], bool]) -> FactKind:
        """The first fact that is wanted, of all that the watcher tells."""
        until_s = time.monotonic() + WORD_S_MAX
        assert self.watcher is not None
        while (left_s := until_s - time.monotonic()) > 0:
            while self._unread:
                fact = self._unread.pop(0)
                if isinstance(fact, kind) and wanted(fact):
                    return fact
            select.select([self.watcher.fd], [], [], left_s)
            fresh = self.watcher.hear()
            assert fresh is not None, "the watcher has ended"
            self.facts += fresh
            self._unread += fresh
        raise AssertionError(f"it was not told; the last words: {self.facts[-5:]}")

    def close(self) -> None:
        for process in self._running:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
        if self.watcher:
            self.watcher.kill()
        self.run_dir.close()


def _birth(path: Path) -> int:
    """When it was made: the number of a file that is gone is given again at once."""
    return path.stat().st_ctime_ns if path.exists() else 0


@pytest.fixture
def job(tmp_path: Path) -> Iterator[Job]:
    found = Job(tmp_path / "run")
    yield found
    found.close()

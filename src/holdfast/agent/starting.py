"""The agent's side of the process that looks at a starting cluster."""

import contextlib
import os
import subprocess
import sys

import msgspec

from holdfast.agent.hearing import Hearing
from holdfast.agent.start_order import StartOrder
from holdfast.model.cluster import TaskId
from holdfast.model.facts import Fact


class Starting:
    """A child process that ends by itself when the cluster is up. Its death costs us looks."""

    def __init__(self, order: StartOrder) -> None:
        self._process = subprocess.Popen(
            [
                sys.executable,
                "-P",
                "-m",
                "holdfast.agent.look_at_start",
                msgspec.json.encode(order).decode(),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,  # a scheduling group of its own: see scan.py
        )
        assert self._process.stdout is not None
        self.fd = self._process.stdout.fileno()
        os.set_blocking(self.fd, False)
        self._hearing = Hearing(self.fd, probe="start-up", host=order.host)

    @property
    def pid(self) -> int:
        return self._process.pid

    def hear(self) -> list[Fact] | None:
        """The facts that have come; None when there will be no more."""
        return self._hearing.hear()

    def started(self, task: TaskId, pid: int) -> None:
        self._tell(f"started {task} {pid}\n")

    def ended(self, task: TaskId) -> None:
        self._tell(f"ended {task}\n")

    def close(self) -> None:
        """It has ended, or is no longer needed."""
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with contextlib.suppress(BrokenPipeError):
                    stream.close()

    def _tell(self, words: str) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(words.encode())
            self._process.stdin.flush()

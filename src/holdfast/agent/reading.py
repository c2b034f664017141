"""The agent's side of the process that reads the output: starts it, hears it, lets it finish."""

import contextlib
import os
import select
import subprocess
import sys
from collections.abc import Iterator

import msgspec

from holdfast.agent.hearing import Hearing
from holdfast.agent.scan import ScanOrder
from holdfast.model.cluster import TaskId
from holdfast.model.facts import Fact


class Reading:
    """A child process whose death costs us telling lines, and nothing else."""

    def __init__(self, order: ScanOrder) -> None:
        self._process = subprocess.Popen(
            [
                sys.executable,
                "-P",
                "-m",
                "holdfast.agent.scan",
                msgspec.json.encode(order).decode(),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,  # a scheduling group of its own: see scan.py
        )
        assert self._process.stdout is not None
        self.fd = self._process.stdout.fileno()
        os.set_blocking(self.fd, False)
        self._hearing = Hearing(self.fd, probe="output reader", host=order.host)

    @property
    def pid(self) -> int:
        return self._process.pid

    def hear(self) -> list[Fact] | None:
        """The facts that have come; None when there will be no more."""
        return self._hearing.hear()

    def read_tail(self, task: TaskId) -> None:
        """A task has died: its last lines matter now."""
        self._tell(f"ended {task}\n")

    def finish(self, at_s: float) -> Iterator[list[Fact]]:
        """Wait until everything is read. The reader ends by itself when it is done."""
        self._tell("finish\n")
        poll = select.poll()  # not select(): that knows no descriptor above 1023
        poll.register(self.fd, select.POLLIN)
        while True:
            poll.poll()
            facts = self.hear()
            if facts is None:
                break
            yield facts
        self._process.stdin and self._process.stdin.close()
        if code := self._process.wait():
            yield [self._hearing.blind(f"ended with {code}: late lines may be missing", at_s)]

    def _tell(self, words: str) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(words.encode())
            self._process.stdin.flush()

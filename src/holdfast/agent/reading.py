"""The agent's side of the process that reads the output: starts it, hears it, lets it finish."""

import select
from collections.abc import Iterator

from holdfast.agent.child import Child
from holdfast.agent.scan import ScanOrder
from holdfast.model.cluster import TaskId
from holdfast.model.facts import Fact


class Reading:
    """A child process whose death costs us telling lines, and nothing else."""

    def __init__(self, order: ScanOrder) -> None:
        self._child = Child("holdfast.agent.scan", order, probe="output reader", host=order.host)
        self.fd = self._child.fd

    @property
    def pid(self) -> int:
        return self._child.pid

    def hear(self) -> list[Fact] | None:
        """The facts that have come; None when there will be no more."""
        return self._child.hear()

    def read_tail(self, task: TaskId) -> None:
        """A task has died: its last lines matter now."""
        self._child.tell(f"ended {task}")

    def finish(self, at_s: float) -> Iterator[list[Fact]]:
        """Wait until everything is read. The reader ends by itself when it is done."""
        self._child.tell("finish")
        poll = select.poll()  # not select(): that knows no descriptor above 1023
        poll.register(self.fd, select.POLLIN)
        while True:
            poll.poll()
            facts = self.hear()
            if facts is None:
                break
            yield facts
        if code := self._child.wait():
            yield [self._child.blind(f"ended with {code}: late lines may be missing", at_s)]

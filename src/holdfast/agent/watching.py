"""The agent's side of the process that watches the tasks while they train."""

from collections.abc import Iterable

from holdfast.agent.child import Child
from holdfast.agent.watch import WatchOrder
from holdfast.model.cluster import TaskId
from holdfast.model.facts import Fact


class Watching:
    """A child that lives as long as the tasks do. Its death costs us looks."""

    def __init__(self, order: WatchOrder) -> None:
        self._child = Child("holdfast.agent.watch", order, probe="watcher", host=order.host)
        self.fd = self._child.fd

    @property
    def pid(self) -> int:
        return self._child.pid

    def hear(self) -> list[Fact] | None:
        """The facts that have come; None when there will be no more."""
        return self._child.hear()

    def started(self, task: TaskId, pid: int) -> None:
        self._child.tell(f"started {task} {pid}")

    def ended(self, task: TaskId) -> None:
        self._child.tell(f"ended {task}")

    def save_stacks(self, tasks: Iterable[TaskId], why: str) -> None:
        """What they are doing, before they are ended."""
        self._child.tell(f"stacks {','.join(map(str, tasks))} {why}")

    def close(self) -> None:
        """Nobody is left to be watched."""
        self._child.kill()

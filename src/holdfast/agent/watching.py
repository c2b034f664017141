"""The agent's side of the process that watches the tasks while they train."""

from collections.abc import Iterable

from holdfast.agent.child import Child
from holdfast.agent.watch_order import WatchOrder
from holdfast.model.cluster import TaskId


class Watching(Child):
    """Lives as long as the tasks do. Its death costs us looks."""

    def __init__(self, order: WatchOrder) -> None:
        super().__init__("holdfast.agent.watch", order, probe="watcher", host=order.host)

    def save_stacks(self, tasks: Iterable[TaskId], why: str) -> None:
        """What they are doing, before they are ended."""
        self.tell(f"stacks {','.join(map(str, tasks))} {why}")

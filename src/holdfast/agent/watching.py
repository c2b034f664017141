"""The agent's side of the process that watches the tasks while they train."""

import select
import time
from collections.abc import Iterable, Iterator

from holdfast.agent.child import Child
from holdfast.agent.watch_order import WatchOrder
from holdfast.model.cluster import TaskId
from holdfast.model.facts import Fact

FINISH_S_MAX = 2.0  # it may be in the middle of a look


class Watching(Child):
    """Lives as long as the tasks do. Its death costs us looks."""

    def __init__(self, order: WatchOrder) -> None:
        super().__init__("holdfast.agent.watch", order, probe="watcher", host=order.host)

    def save_stacks(self, tasks: Iterable[TaskId], why: str) -> None:
        """What they are doing, before they are ended."""
        self.tell(f"stacks {','.join(map(str, tasks))} {why}")

    def finish(self) -> Iterator[list[Fact]]:
        """How far those had come who have just ended, if it says so in time."""
        self.tell("finish")
        poll = select.poll()  # not select(): that knows no descriptor above 1023
        poll.register(self.fd, select.POLLIN)
        until_s = time.monotonic() + FINISH_S_MAX
        while (left_s := until_s - time.monotonic()) > 0:
            poll.poll(1000 * left_s)
            facts = self.hear()
            if facts is None:
                return
            yield facts

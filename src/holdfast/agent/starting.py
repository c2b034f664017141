"""The agent's side of the process that looks at a starting cluster."""

from holdfast.agent.child import Child
from holdfast.agent.start_order import StartOrder
from holdfast.model.cluster import TaskId
from holdfast.model.facts import Fact


class Starting:
    """A child that ends by itself when the cluster is up. Its death costs us looks."""

    def __init__(self, order: StartOrder) -> None:
        self._child = Child(
            "holdfast.agent.look_at_start", order, probe="start-up", host=order.host
        )
        self.fd = self._child.fd

    def hear(self) -> list[Fact] | None:
        """The facts that have come; None when there will be no more."""
        return self._child.hear()

    def started(self, task: TaskId, pid: int) -> None:
        self._child.tell(f"started {task} {pid}")

    def ended(self, task: TaskId) -> None:
        self._child.tell(f"ended {task}")

    def close(self) -> None:
        """It has ended, or is no longer needed."""
        self._child.kill()

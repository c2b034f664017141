"""The agent's side of the process that looks at a starting cluster."""

from holdfast.agent.child import Child
from holdfast.agent.start_order import StartOrder


class Starting(Child):
    """Ends by itself when the cluster is up. Its death costs us looks."""

    def __init__(self, order: StartOrder) -> None:
        super().__init__("holdfast.agent.look_at_start", order, probe="start-up", host=order.host)

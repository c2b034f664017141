"""The agent's side of the process that looks at a starting cluster."""

from holdfast.agent.aftermath import Where
from holdfast.agent.child import Child
from holdfast.agent.start_order import StartOrder
from holdfast.model.facts import Fact, StartBlocked, StartWaits
from holdfast.model.orders import TellStart


class Starting(Child):
    """Ends by itself when the cluster is up. Its death costs us looks."""

    def __init__(self, order: StartOrder) -> None:
        super().__init__("holdfast.agent.look_at_start", order, probe="start-up", host=order.host)


def start_fact(told: TellStart, where: Where) -> Fact:
    """Where the start-up stands, for the journal."""
    missing, waiting = tuple(map(str, told.missing)), tuple(map(str, told.waiting))
    if told.over_s is None:
        return StartWaits(missing=missing, waiting=waiting, says=told.says, **where)
    return StartBlocked(deadline_s=told.over_s, missing=missing, waiting=waiting, **where)

"""The agent's side of the process that reads the output: starts it, hears it, lets it finish."""

import select
from collections.abc import Iterator

from holdfast.agent.child import Child
from holdfast.agent.scan_order import ScanOrder
from holdfast.model.facts import Fact


class Reading(Child):
    """Its death costs us telling lines, and nothing else. Who has ended is read first."""

    def __init__(self, order: ScanOrder) -> None:
        super().__init__("holdfast.agent.scan", order, probe="output reader", host=order.host)

    def finish(self, at_s: float) -> Iterator[list[Fact]]:
        """Wait until everything is read. The reader ends by itself when it is done."""
        self.tell("finish")
        poll = select.poll()  # not select(): that knows no descriptor above 1023
        poll.register(self.fd, select.POLLIN)
        while True:
            poll.poll()
            facts = self.hear()
            if facts is None:
                break
            yield facts
        if code := self.wait():
            yield [self.blind(f"ended with {code}: late lines may be missing", at_s)]

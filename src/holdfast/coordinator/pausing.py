"""Nothing to do but to listen at the door, until it is time."""

import selectors
from collections.abc import Callable, Iterator
from typing import Protocol

from holdfast.model.facts import Fact

LOOK_AGAIN_S = 0.1


class Ear(Protocol):
    """Whoever may be asked for something meanwhile."""

    def waitables(self) -> dict[int, Callable[[], Iterator[list[Fact]]]]:
        """What to wait for, and what to do when it is readable."""


def pause(ear: Ear, take: Callable[[list[Fact]], None], *, until: Callable[[], bool]) -> None:
    """Take what is asked for, until `until` says that it is time."""
    while not until():
        with selectors.DefaultSelector() as selector:
            for fd, act in ear.waitables().items():
                selector.register(fd, selectors.EVENT_READ, act)
            for key, _ in selector.select(LOOK_AGAIN_S):
                for batch in key.data():
                    take(batch)

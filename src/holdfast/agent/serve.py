"""What every child process of the agent does: hear orders on 0, tell facts on 1."""

import os
import selectors
from collections.abc import Callable, Iterable

from holdfast.model.codec import encode
from holdfast.model.facts import Fact

HEAR_BYTES = 65_536


def tell(facts: Iterable[Fact]) -> None:
    lines = b"".join(encode(fact) + b"\n" for fact in facts)
    while lines:
        lines = lines[os.write(1, lines) :]


def serve(
    hear: Callable[[str], bool], look: Callable[[], bool], pause_s: Callable[[], float]
) -> None:
    """Look, pause, look again, until either says that it is over, or nobody listens any more.

    `hear` takes one line; both return whether to go on.
    """
    rest = b""
    with selectors.DefaultSelector() as selector:
        selector.register(0, selectors.EVENT_READ)
        while True:
            if selector.select(pause_s()):
                heard = os.read(0, HEAR_BYTES)
                if not heard:
                    return
                *lines, rest = (rest + heard).split(b"\n")
                if not all(hear(line.decode()) for line in lines):
                    return
                continue
            if not look():
                return

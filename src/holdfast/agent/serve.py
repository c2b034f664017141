"""What every child process of the agent does: hear orders on 0, tell facts on 1."""

import os
import selectors
from collections.abc import Callable, Iterable, Mapping

from holdfast.model.codec import encode
from holdfast.model.facts import Fact

HEAR_BYTES = 65_536


def tell(facts: Iterable[Fact]) -> None:
    lines = b"".join(encode(fact) + b"\n" for fact in facts)
    while lines:
        lines = lines[os.write(1, lines) :]


def serve(
    hear: Callable[[str], bool],
    look: Callable[[], bool],
    pause_s: Callable[[], float],
    *,
    ears: Mapping[int, Callable[[], None]] | None = None,
) -> None:
    """Look, pause, look again, until either says that it is over, or nobody listens any more.

    `hear` takes one line; both return whether to go on. `ears` are other descriptors, and what
    to do when they are readable: that puts off no look.
    """
    rest = b""
    with selectors.DefaultSelector() as selector:
        for fd in (0, *(ears or ())):
            selector.register(fd, selectors.EVENT_READ)
        while True:
            ready = {key.fd for key, _ in selector.select(pause_s())}
            for fd in ready - {0}:
                assert ears is not None
                ears[fd]()
            if 0 in ready:
                heard = os.read(0, HEAR_BYTES)
                if not heard:
                    return
                *lines, rest = (rest + heard).split(b"\n")
                if not all(hear(line.decode()) for line in lines):
                    return
                continue
            if ready and pause_s() > 0:
                continue
            if not look():
                return

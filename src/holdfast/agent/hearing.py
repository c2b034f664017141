"""Facts that come through a pipe from a process of ours."""

import os

from holdfast.model.codec import decode
from holdfast.model.errors import BadInput
from holdfast.model.facts import Fact, ProbeBlind

HEAR_BYTES = 1 << 20


class Hearing:
    """Reads whole lines from a descriptor that does not block."""

    def __init__(self, fd: int, *, probe: str, host: str) -> None:
        self._fd = fd
        self._probe = probe
        self._host = host
        self._rest = b""

    def hear(self) -> list[Fact] | None:
        """The facts that have come; None when there will be no more."""
        try:
            heard = os.read(self._fd, HEAR_BYTES)
        except BlockingIOError:
            return []
        if not heard:
            return None
        *lines, self._rest = (self._rest + heard).split(b"\n")
        facts: list[Fact] = []
        for line in lines:
            try:
                facts.append(decode(line))
            except BadInput as error:
                facts.append(self.blind(f"sent what is not a fact: {error}"))
        return facts

    def blind(self, why: str, at_s: float = 0.0) -> ProbeBlind:
        return ProbeBlind(at_s=at_s, host=self._host, probe=self._probe, why=why)

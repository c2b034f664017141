"""What names mean here: each is looked up once, and none holds us up for long."""

import asyncio
import contextlib
import queue
import socket
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from holdfast.probes.paths.tf_server import one_line

RESOLVE_S = 5.0
RESOLVERS_MAX = 128
IPS_MAX = 8  # of one name; more are not tried


@dataclass(frozen=True, slots=True)
class Found:
    """Where a name leads: socket addresses without their port, or why nowhere."""

    hosts: tuple[tuple[socket.AddressFamily, tuple[Any, ...]], ...] = ()
    says: str = ""

    @property
    def ips(self) -> tuple[str, ...]:
        return tuple(str(host[0]) for _, host in self.hosts)

    def at(self, port: int) -> list[tuple[socket.AddressFamily, tuple[Any, ...]]]:
        """Socket addresses to connect to, in the resolver's order."""
        return [(family, (host[0], port, *host[2:])) for family, host in self.hosts]


class Names:
    """Begins to look up all names at once; `of` waits for one of them."""

    def __init__(self, names: Iterable[str], *, resolve_s: float = RESOLVE_S) -> None:
        self._loop = asyncio.get_running_loop()
        self._found: dict[str, asyncio.Future[Found]] = {}
        self._asked: queue.SimpleQueue[str] = queue.SimpleQueue()
        for name in names:
            if name not in self._found:
                self._found[name] = self._loop.create_future()
                if (number := _look_up(name, socket.AI_NUMERICHOST)).hosts:
                    self._found[name].set_result(number)
                else:
                    self._asked.put(name)
        self._give_up = self._loop.call_later(resolve_s, self._expire, resolve_s)
        for _ in range(min(RESOLVERS_MAX, self._asked.qsize())):
            # The only daemon threads here: nobody can call getaddrinfo back, which may wait
            # for a dead name server for a minute, and whoever asked us shall not wait with it.
            threading.Thread(target=self._resolve, name="resolver", daemon=True).start()

    async def of(self, name: str) -> Found:
        return await self._found[name]

    def close(self) -> None:
        self._give_up.cancel()
        with contextlib.suppress(queue.Empty):
            while True:
                self._asked.get_nowait()

    def _resolve(self) -> None:
        with contextlib.suppress(queue.Empty, RuntimeError):  # no more names, or a closed loop
            while True:
                name = self._asked.get_nowait()
                self._loop.call_soon_threadsafe(self._settle, name, _look_up(name))

    def _settle(self, name: str, found: Found) -> None:
        if not self._found[name].done():
            self._found[name].set_result(found)

    def _expire(self, resolve_s: float) -> None:
        for name in self._found:
            self._settle(name, Found(says=f"the resolver gave no answer in {resolve_s:g} s"))


def _look_up(name: str, flags: int = 0) -> Found:
    try:
        answers = socket.getaddrinfo(name, 0, type=socket.SOCK_STREAM, flags=flags)
    except (OSError, ValueError) as error:  # a ValueError: no bytes of DNS can spell that name
        says = getattr(error, "strerror", None) or str(error)
        return Found(says=one_line(says))
    hosts = dict.fromkeys((family, host) for family, _, _, _, host in answers)
    return Found(hosts=tuple(hosts)[:IPS_MAX])

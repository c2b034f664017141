"""Looks at many addresses at once: resolve, connect, greet, ask."""

import asyncio
import socket
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from holdfast.model.address import PORT_MAX, Address, Complaint, parse_address
from holdfast.model.cluster import TaskId
from holdfast.model.errors import MissingInput
from holdfast.model.facts import PathProbed
from holdfast.model.path import Outcome
from holdfast.model.tf_messages import Device
from holdfast.probes.paths.greeting import Touch, touch
from holdfast.probes.paths.names import Names
from holdfast.probes.paths.place import Place, at_once
from holdfast.probes.paths.tf_server import Answer, ask_status

CONNECT_S = 3.0
ANSWER_S = 2.0
AT_ONCE_MAX = 256
NEARBY_PORTS = 8  # to either side
_ASKS_AT_ONCE_MAX = 128  # each has a thread
_FOUND_QUEUED_MAX = 256

# Of several IP addresses of one name, the one that tells most: gRPC takes the first that
# speaks, and where none does, those that said something count before those that did not.
_TELLING = (
    *(Outcome.ANSWERED, Outcome.STALLED, Outcome.NOT_GRPC, Outcome.REFUSED, Outcome.RESET),
    *(Outcome.UNREACHABLE, Outcome.FILTERED, Outcome.BLIND),
)


async def look_at(
    places: Iterable[Place],
    *,
    at_s: Callable[[], float],
    host: str,
    connect_s: float = CONNECT_S,
    answer_s: float = ANSWER_S,
    at_once_max: int = AT_ONCE_MAX,
    from_task: TaskId | None = None,
) -> AsyncIterator[PathProbed]:
    """One fact for each place, as soon as it is known.

    Whoever stops listening early waits for the questions under way, at most `answer_s`.
    """
    wanted = list(places)
    slots = at_once(at_once_max)
    found: asyncio.Queue[PathProbed] = asyncio.Queue(_FOUND_QUEUED_MAX)
    names = Names(
        address.host
        for place in wanted
        if isinstance(address := parse_address(place.address), Address)
    )
    with ThreadPoolExecutor(min(slots, _ASKS_AT_ONCE_MAX), "ask") as asking:
        look = _Look(names, asyncio.Semaphore(slots), asking, connect_s, answer_s)
        rest = iter(wanted)

        async def work() -> None:
            for place in rest:  # one iterator for all: whoever is free takes the next
                began_s = time.monotonic()
                seen = await look.at(place.address)
                took_s = time.monotonic() - began_s
                await found.put(
                    _fact(place, seen, took_s=took_s, at_s=at_s(), host=host, from_task=from_task)
                )

        async with asyncio.TaskGroup() as group:
            working = [group.create_task(work()) for _ in range(min(slots, len(wanted)))]
            try:
                for _ in wanted:
                    yield await found.get()
            except GeneratorExit:  # nobody listens any more
                for task in working:
                    task.cancel()
            finally:
                names.close()


def probe_paths(
    places: Iterable[Place],
    *,
    at_s: Callable[[], float],
    host: str,
    connect_s: float = CONNECT_S,
    answer_s: float = ANSWER_S,
    at_once_max: int = AT_ONCE_MAX,
    from_task: TaskId | None = None,
    seen: Callable[[int, int], None] | None = None,
) -> list[PathProbed]:
    """All looks, in the order of the places; `seen` hears how many of how many are done."""
    wanted = list(places)

    async def collect() -> list[PathProbed]:
        facts: list[PathProbed] = []
        async for fact in look_at(
            wanted,
            at_s=at_s,
            host=host,
            connect_s=connect_s,
            answer_s=answer_s,
            at_once_max=at_once_max,
            from_task=from_task,
        ):
            facts.append(fact)
            if seen is not None:
                seen(len(facts), len(wanted))
        return facts

    facts = asyncio.run(collect())
    order: dict[tuple[str, TaskId | None], int] = {}
    for number, place in enumerate(wanted):
        order.setdefault((place.address, place.target), number)
    return sorted(facts, key=lambda fact: order[fact.address, fact.target])


def look_nearby(
    place: Place,
    *,
    at_s: Callable[[], float],
    host: str,
    connect_s: float = CONNECT_S,
    answer_s: float = ANSWER_S,
) -> list[PathProbed]:
    """TensorFlow servers on the ports around a place at which the expected one is not.

    Only those that answered: whose `target` is whom we look for, and who may be another.
    """
    looks = probe_paths(
        _around(place), at_s=at_s, host=host, connect_s=connect_s, answer_s=answer_s
    )
    return [look for look in looks if look.outcome == Outcome.ANSWERED]


def _around(place: Place) -> Iterator[Place]:
    address = parse_address(place.address)
    if isinstance(address, Complaint):
        return
    for port in range(address.port - NEARBY_PORTS, address.port + NEARBY_PORTS + 1):
        if 0 < port <= PORT_MAX and port != address.port:
            yield Place(str(Address(address.host, port)), place.target)


@dataclass(frozen=True, slots=True)
class _Seen:
    outcome: Outcome
    says: str = ""
    ips: tuple[str, ...] = ()
    answer: Answer | None = None


@dataclass(frozen=True, slots=True)
class _Look:
    """The stages that an address goes through, and what they share."""

    names: Names
    sockets: asyncio.Semaphore
    asking: ThreadPoolExecutor
    connect_s: float
    answer_s: float

    async def at(self, text: str) -> _Seen:
        address = parse_address(text)
        if isinstance(address, Complaint):
            return _Seen(Outcome.BAD_ADDRESS, f"it {address}")
        found = await self.names.of(address.host)
        if not found.hosts:
            return _Seen(Outcome.UNRESOLVED, found.says)
        where = found.at(address.port)
        touches = await asyncio.gather(*(self._touch(family, at) for family, at in where))
        best = min(touches, key=lambda one: _TELLING.index(one.outcome))
        if best.outcome != Outcome.ANSWERED:
            return _Seen(best.outcome, best.says, found.ips)
        ip = found.ips[touches.index(best)]
        return await self._ask(str(Address(ip, address.port)), found.ips)

    async def _touch(self, family: socket.AddressFamily, at: tuple[Any, ...]) -> Touch:
        async with self.sockets:
            return await touch(family, at, connect_s=self.connect_s, answer_s=self.answer_s)

    async def _ask(self, address: str, ips: tuple[str, ...]) -> _Seen:
        loop = asyncio.get_running_loop()
        try:
            answer = await loop.run_in_executor(
                self.asking, lambda: ask_status(address, deadline_s=self.answer_s)
            )
        except MissingInput as error:
            return _Seen(Outcome.BLIND, f"{error.message}: {error.do}", ips)
        return _Seen(answer.outcome, answer.says, ips, answer)


def _fact(
    place: Place, seen: _Seen, *, took_s: float, at_s: float, host: str, from_task: TaskId | None
) -> PathProbed:
    devices = seen.answer.devices if seen.answer else ()
    return PathProbed(
        at_s=at_s,
        host=host,
        task=from_task,
        address=place.address,
        outcome=seen.outcome,
        target=place.target,
        says=seen.says,
        ips=seen.ips,
        took_s=took_s,
        name=seen.answer.name if seen.answer else "",
        incarnation=incarnation_of(devices),
        devices=tuple(device.kind for device in devices),
        memory_bytes=max((device.memory_bytes for device in devices), default=0),
    )


def incarnation_of(devices: Iterable[Device]) -> int:
    """That of a task's first device: every device has its own, and one is enough to compare."""
    return next((device.incarnation for device in devices), 0)

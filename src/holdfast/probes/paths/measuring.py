"""How fast and how sure the way to an address is, from repeated TCP connections."""

import asyncio
import math
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from holdfast.model.address import Address, parse_address
from holdfast.model.facts import PathMeasured
from holdfast.model.path import Outcome
from holdfast.probes.paths.greeting import NotConnected, connected
from holdfast.probes.paths.names import Names
from holdfast.probes.paths.place import Place, at_once

TRIES = 20
SPACING_S = 0.02
# The kernel repeats a lost SYN after one second: a connection that took that long lost one.
LOST_S = 0.9
CONNECT_S = 3.0
LOST_IN_A_ROW_MAX = 3  # then nobody is there to be measured
AT_ONCE_MAX = 64


def measure_paths(
    places: Iterable[Place],
    *,
    at_s: Callable[[], float],
    host: str,
    tries: int = TRIES,
    at_once_max: int = AT_ONCE_MAX,
) -> list[PathMeasured]:
    """Latency and loss to each place whose name means something, in the order of the places.

    A refused connection has made the way there and back, and counts. Throughput stays 0:
    nobody on the other side takes what we would have to send.
    """
    return asyncio.run(_measure_all(list(places), at_s, host, tries, at_once_max))


async def _measure_all(
    places: Sequence[Place],
    at_s: Callable[[], float],
    host: str,
    tries: int,
    at_once_max: int,
) -> list[PathMeasured]:
    parsed = [(place, parse_address(place.address)) for place in places]
    wanted = [(place, where) for place, where in parsed if isinstance(where, Address)]
    names = Names(where.host for _, where in wanted)
    slots = asyncio.Semaphore(at_once(at_once_max))

    async def measure(place: Place, where: Address) -> PathMeasured | None:
        found = await names.of(where.host)
        if not found.hosts:
            return None
        async with slots:
            took_s, lost = await _tries(*found.at(where.port)[0], tries=tries)
        return PathMeasured(
            at_s=at_s(),
            host=host,
            address=place.address,
            target=place.target,
            tries=len(took_s) + lost,
            lost=lost,
            p50_s=_share(took_s, 0.5),
            p99_s=_share(took_s, 0.99),
        )

    try:
        async with asyncio.TaskGroup() as group:
            under_way = [group.create_task(measure(place, where)) for place, where in wanted]
    finally:
        names.close()
    return [fact for task in under_way if (fact := task.result()) is not None]


async def _tries(family: Any, where: tuple[Any, ...], *, tries: int) -> tuple[list[float], int]:
    """The times of those that came through, sorted, and how many did not."""
    took_s: list[float] = []
    lost = in_a_row = 0
    for _ in range(tries):
        one_s = await _connect(family, where)
        if one_s < LOST_S:
            took_s.append(one_s)
            in_a_row = 0
        else:
            lost += 1
            in_a_row += 1
        if in_a_row == LOST_IN_A_ROW_MAX:
            break
        await asyncio.sleep(SPACING_S)
    return sorted(took_s), lost


async def _connect(family: Any, where: tuple[Any, ...]) -> float:
    """How long it took; for ever, when nothing came back."""
    began_s = time.monotonic()
    try:
        async with connected(family, where, connect_s=CONNECT_S):
            return time.monotonic() - began_s
    except NotConnected as error:
        took_s = time.monotonic() - began_s
        return took_s if error.touch.outcome == Outcome.REFUSED else math.inf


def _share(sorted_s: Sequence[float], share: float) -> float:
    """The time that this share of them did not exceed; 0 when there is none."""
    if not sorted_s:
        return 0.0
    return sorted_s[min(len(sorted_s) - 1, math.ceil(share * len(sorted_s)) - 1)]

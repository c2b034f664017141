"""How far away the tasks on other hosts are: told when that is far, and when it no longer is."""

import ipaddress
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from holdfast.agent.watched import Watched
from holdfast.model.address import Address, is_loopback, parse_address
from holdfast.model.cluster import TaskId
from holdfast.model.facts import Fact, PathMeasured
from holdfast.model.middle import median
from holdfast.probes.round_trip import RoundTrip

EVERY_S, AGAIN_S = 5.0, 60.0
ASKED_A_LOOK_MAX = 8
TRIES_KEPT, TRIES_MIN = 8, 3
SENT_AGAIN_S = 0.95  # the kernel asks for a connection again after a second
FAR_S = 0.05  # a local network answers in less than a thousandth of a second


@dataclass(slots=True)
class _Way:
    address: Address
    asked: RoundTrip | None = None
    asked_s: float = float("-inf")
    took: deque[float | None] = field(default_factory=lambda: deque(maxlen=TRIES_KEPT))
    told_s: float | None = None


class PathLook:
    """A connection to each server on another host now and then; within a host there is no way."""

    def __init__(self, host: str, addresses: Mapping[TaskId, str]) -> None:
        self._host = host
        self._ways = {
            task: _Way(address)
            for task, text in addresses.items()
            if isinstance(address := parse_address(text), Address) and _is_elsewhere(address.host)
        }

    def look(self, tasks: Mapping[TaskId, Watched], at_s: float) -> Iterator[Fact]:
        asked = 0
        trains = any(watched.trains for watched in tasks.values())
        for task, way in self._ways.items():
            if way.asked is not None:
                way.asked.look(at_s)
                if way.asked.is_over:
                    way.took.append(way.asked.took_s)
                    way.asked = None
                    yield from self._told(task, way, at_s)
            elif trains and asked < ASKED_A_LOOK_MAX and at_s - way.asked_s >= EVERY_S:
                asked += 1
                way.asked_s = at_s
                way.asked = RoundTrip(way.address.host, way.address.port, at_s)

    def _told(self, task: TaskId, way: _Way, at_s: float) -> Iterator[Fact]:
        known = [took_s for took_s in way.took if took_s is not None]
        if len(known) < TRIES_MIN:
            return
        is_far = _is_far(known)
        if is_far == (way.told_s is not None) and not (
            way.told_s is not None and at_s - way.told_s >= AGAIN_S
        ):
            return
        way.told_s = at_s if is_far else None
        yield PathMeasured(
            at_s=at_s,
            host=self._host,
            address=str(way.address),
            target=task,
            tries=len(way.took),
            lost=len(way.took) - len(known),
            p50_s=round(median(known), 6),
            p99_s=round(max(known), 6),
        )


def _is_far(took_s: list[float]) -> bool:
    """Whether the last tries all took long; not those in which something had to be sent again."""
    at_once = [one for one in took_s if one < SENT_AGAIN_S] or took_s
    last = at_once[-TRIES_MIN:]
    return len(last) == TRIES_MIN and min(last) >= FAR_S


def _is_elsewhere(host: str) -> bool:
    """Only numbers can be asked without waiting for a resolver."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return not is_loopback(host)

"""Sums that only grow, made into rates: what came in between, by the time in between."""

from collections.abc import Mapping
from typing import NamedTuple

from holdfast.probes.flows import DiskFlow, Flow

NOT_KNOWN = -1.0
SHOWN_MAX = 4  # interfaces


class HostFlows(NamedTuple):
    at_s: float
    interfaces: Mapping[str, Flow]
    disks: DiskFlow


def network_rates(before: HostFlows | None, now: HostFlows) -> dict[str, dict[str, float]]:
    """Bytes a second of the busiest interfaces; those that carried nothing are left out."""
    into: dict[str, float] = {}
    out: dict[str, float] = {}
    for name, flow in now.interfaces.items() if before else ():
        if before and name in before.interfaces:
            past, over_s = before.interfaces[name], now.at_s - before.at_s
            into[name] = rate(past.into, flow.into, over_s)
            out[name] = rate(past.out, flow.out, over_s)
    busiest = sorted(into, key=lambda name: -(into[name] + out[name]))[:SHOWN_MAX]
    return {
        "received_bytes_per_s": {name: into[name] for name in busiest if into[name] > 0},
        "sent_bytes_per_s": {name: out[name] for name in busiest if out[name] > 0},
    }


def disk_rates(before: HostFlows | None, now: HostFlows) -> dict[str, float]:
    """Bytes a second of all disks, and how much of the time the busiest of them worked."""
    if before is None:
        return {}
    over_s = now.at_s - before.at_s
    busy = [
        (busy_s - before.disks.busy_s.get(name, busy_s)) / over_s
        for name, busy_s in now.disks.busy_s.items()
        if over_s > 0
    ]
    return {
        "read_bytes_per_s": rate(before.disks.bytes.into, now.disks.bytes.into, over_s),
        "written_bytes_per_s": rate(before.disks.bytes.out, now.disks.bytes.out, over_s),
        "disk_busy_share": round(min(1.0, max([0.0, *busy])), 3) if busy else NOT_KNOWN,
    }


def rate(before: int, now: int, over_s: float) -> float:
    """A second; not known where no time has passed, or the sum began anew."""
    return round((now - before) / over_s, 1) if over_s > 0 and now >= before else NOT_KNOWN

"""A task shall listen on a port that the kernel gives away to outgoing connections.

## What you see
Nothing, mostly. Now and then a task cannot listen at its start, and the same definition works
the next time.

## Why it happens
Linux takes the local ports of outgoing connections from 32768 to 60999 unless told otherwise.
Whoever connects first to anything may hold the very port that a task was meant to have.

## How to confirm it by hand
`cat /proc/sys/net/ipv4/ip_local_port_range` on the task's host shows the range.

## What to do
Take ports below 32768, such as 2222; or reserve them with `net.ipv4.ip_local_reserved_ports`.

## When this accusation would be wrong
When the host's range was changed, or the ports are reserved. It is a warning, never an error.
"""

from collections.abc import Iterator

from holdfast.model.address import Complaint, parse_address
from holdfast.model.definitions import (
    Definition,
    definitions,
    gathered,
    owners,
    proving,
)
from holdfast.model.evidence import Evidence
from holdfast.model.facts import HostMeasured
from holdfast.model.findings import Cause, Confidence, Proof, Severity
from holdfast.model.remedies import AskHuman
from holdfast.model.spec import members
from holdfast.model.words import listed

PORTS_DEFAULT = (32_768, 60_999)  # of net.ipv4.ip_local_port_range, where no host was looked at


def detect(evidence: Evidence) -> Iterator[Proof]:
    first, last = _outgoing(evidence)
    found = (
        (_ephemeral(definition, first, last), definition) for definition in definitions(evidence)
    )
    for ports, specs in gathered(found).items():
        if not ports:
            continue
        reserve = ",".join(dict.fromkeys(str(port) for _, port in ports[:10]))
        yield Proof(
            facts=proving(specs),
            culprit=None,  # a warning accuses nobody
            confidence=Confidence.HIGH,
            says=(
                f"{listed([f'{name} on port {port}' for name, port in ports])}: any outgoing"
                f" connection may take a port from {first} to {last} before the task listens"
                f" (in {owners(specs)})"
            ),
            do=(
                f"take ports below {first}, such as 2222",
                f"or reserve them: sysctl -w net.ipv4.ip_local_reserved_ports={reserve}",
            ),
        )


def _outgoing(evidence: Evidence) -> tuple[int, int]:
    """The range of the host that was looked at, or the kernel's default."""
    ranges = (host.outgoing_ports for host in evidence.of(HostMeasured) if host.outgoing_ports)
    first, *_, last = next(ranges, PORTS_DEFAULT)
    return first, last


def _ephemeral(definition: Definition, first: int, last: int) -> tuple[tuple[str, int], ...]:
    return tuple(
        (str(task), found.port)
        for task, text in members(definition.specs[0]).items()
        if not isinstance(found := parse_address(text), Complaint) and first <= found.port <= last
    )


cause = Cause(
    family="port-conflict",
    detect=detect,
    remedy=AskHuman(),
    preview=False,
    severity=Severity.WARNING,
)

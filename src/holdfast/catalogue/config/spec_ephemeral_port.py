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
from holdfast.model.findings import Cause, Confidence, Proof, Severity
from holdfast.model.remedies import AskHuman
from holdfast.model.spec import members
from holdfast.model.words import listed

EPHEMERAL_PORT_MIN = 32_768  # Linux's default of net.ipv4.ip_local_port_range
EPHEMERAL_PORT_MAX = 60_999


def detect(evidence: Evidence) -> Iterator[Proof]:
    found = ((_ephemeral(definition), definition) for definition in definitions(evidence))
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
                f" connection may take a port from {EPHEMERAL_PORT_MIN} to"
                f" {EPHEMERAL_PORT_MAX} before the task listens (in {owners(specs)})"
            ),
            do=(
                f"take ports below {EPHEMERAL_PORT_MIN}, such as 2222",
                f"or reserve them: sysctl -w net.ipv4.ip_local_reserved_ports={reserve}",
            ),
        )


def _ephemeral(definition: Definition) -> tuple[tuple[str, int], ...]:
    return tuple(
        (str(task), found.port)
        for task, text in members(definition.specs[0]).items()
        if not isinstance(found := parse_address(text), Complaint)
        and EPHEMERAL_PORT_MIN <= found.port <= EPHEMERAL_PORT_MAX
    )


cause = Cause(
    family="port-conflict",
    detect=detect,
    remedy=AskHuman(),
    preview=False,
    severity=Severity.WARNING,
)

"""Connections to a task take so long that every step will wait for them.

## What you see
Training that works and crawls: with 200 ms each way, a step of a MultiWorkerMirroredStrategy
takes seconds. No error, no message.

## Why it happens
Hosts in different regions, a VPN or a proxy in between, a link that is full, a host whose cores
are all busy.

## How to confirm it by hand
`ping HOST`; `ss -ti dst HOST` on a running job shows the round-trip time of every connection.

## What to do
Place the tasks in one network. Fewer, larger messages help: a larger batch, gradient
accumulation, fewer variables.

## When this accusation would be wrong
When the path was busy only while it was measured. Measure again on a quiet network. It is a
warning, never an error: a starved host answers late, too.
"""

from collections.abc import Iterator

from holdfast.model.evidence import Evidence
from holdfast.model.facts import PathMeasured
from holdfast.model.findings import Cause, Proof, Severity
from holdfast.model.remedies import AskHuman

SLOW_S = 0.05  # a local network answers in less than a thousandth of a second


def detect(evidence: Evidence) -> Iterator[Proof]:
    newest = {(one.host, one.address): one for one in evidence.of(PathMeasured)}
    for measured in newest.values():
        if measured.lost < measured.tries and measured.p50_s >= SLOW_S:
            who = measured.target or measured.address
            yield Proof(
                facts=(measured,),
                culprit=measured.target,
                says=f"a connection to {who} at {measured.address} takes"
                f" {measured.p50_s * 1000:.0f} ms (p99 {measured.p99_s * 1000:.0f} ms):"
                " every step waits for it",
                do=(
                    f"ping -c 10 {measured.address.rpartition(':')[0]}",
                    "place the tasks in one network",
                ),
            )


cause = Cause(
    family="deadline-exceeded", detect=detect, remedy=AskHuman(), severity=Severity.WARNING
)

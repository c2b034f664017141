"""The path to a task loses packets.

## What you see
Training that stutters: steps that take a second or more between ones that are fast. With much
loss, missed heartbeats and `DEADLINE_EXCEEDED` that name no task.

## Why it happens
A full link, a bad cable or transceiver, a wrong MTU on the way, a virtual switch without
buffers.

## How to confirm it by hand
`ping -c 100 -i 0.2 HOST` counts the loss; `ss -ti dst HOST` shows `retrans` growing.

## What to do
Repair the link. A packet that is lost when a connection is made costs a second, within a
connection a fifth of a second.

## When this accusation would be wrong
When the task's host was too busy to answer in time: then the loss goes with a load near the number
of its cores. It is a warning, never an error: a starved host may be all there is to it.
"""

from collections.abc import Iterator

from holdfast.model.evidence import Evidence
from holdfast.model.facts import PathMeasured
from holdfast.model.findings import Cause, Confidence, Proof, Severity
from holdfast.model.remedies import AskHuman

LOSS_SHARE = 0.02
LOST_SURELY = 3


def detect(evidence: Evidence) -> Iterator[Proof]:
    for measured in evidence.of(PathMeasured):
        if 0 < measured.lost < measured.tries and measured.lost >= LOSS_SHARE * measured.tries:
            who = measured.target or measured.address
            sure = measured.lost >= LOST_SURELY
            yield Proof(
                facts=(measured,),
                culprit=measured.target,
                confidence=Confidence.HIGH if sure else Confidence.LIKELY,
                says=f"the path to {who} at {measured.address} loses packets: {measured.lost} of"
                f" {measured.tries} connections had to be asked for again",
                do=(f"ping -c 100 -i 0.2 {measured.address.rpartition(':')[0]}",),
            )


cause = Cause(
    family="network-unreachable", detect=detect, remedy=AskHuman(), severity=Severity.WARNING
)

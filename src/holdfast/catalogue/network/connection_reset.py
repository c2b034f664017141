"""A task's address accepts connections and throws them out at once.

## What you see
`Connection reset by peer` or `Socket closed` as soon as a task is called, again and again,
while its port looks open.

## Why it happens
Something in between accepts for the task and has nobody behind it: a load balancer or a
container's port mapping without a backend, a firewall that inspects and rejects, a service
mesh that wants TLS. Or a server that is ending.

## How to confirm it by hand
`nc -v HOST PORT` connects and is closed at once; on the task's own host the same works.

## What to do
Let the tasks reach each other directly: host network for containers, no load balancer, no
service mesh on the ports of the cluster.

## When this accusation would be wrong
When the task was ending just then. Look again: the finding rests on several looks in a run, on one
look from outside. A starved task does not reset connections, it is only late to answer them; in a
run it must last, as in `stalled-at-start`.
"""

from collections.abc import Iterator

from holdfast.model.evidence import Evidence
from holdfast.model.findings import Cause, Confidence, Proof
from holdfast.model.path import Outcome
from holdfast.model.remedies import AskHuman
from holdfast.model.standing import missing


def detect(evidence: Evidence) -> Iterator[Proof]:
    for task, standing in missing(evidence).items():
        look = standing.look
        if look.outcome == Outcome.RESET:
            yield Proof(
                facts=(look,),
                culprit=task,
                confidence=Confidence.LIKELY,
                says=f"{look.address} ({task}) accepts connections and closes them at once:"
                " something stands in between, and nobody behind it",
                do=(
                    (
                        f"try it on the host of {task} itself: nc -v 127.0.0.1"
                        f" {look.address.rpartition(':')[2]}"
                    ),
                    "let the tasks reach each other without a load balancer or a service mesh",
                ),
            )


cause = Cause(family="network-unreachable", detect=detect, remedy=AskHuman())

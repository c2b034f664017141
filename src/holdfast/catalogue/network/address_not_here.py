"""The address of a task that should run on this host belongs to another one.

## What you see
The task starts and seems well: TensorFlow listens on all addresses of its host and never
looks whether its own is among them. Its peers connect to another host, where nobody listens,
and wait.

## Why it happens
The definition names another host, a name resolves differently here than elsewhere, the host
got a new address, or the task was started on the wrong host.

## How to confirm it by hand
`getent ahosts NAME` against `ip -brief address` on this host.

## What to do
Correct the address in the definition, the entry in /etc/hosts or DNS, or start the task on
the host that has the address.

## When this accusation would be wrong
When peers reach this host under an address that it does not know itself: behind a load
balancer, NAT, a published port of a container, or a service of Kubernetes. So it is only a
warning, and none once the task answers there.
"""

from collections.abc import Iterator

from holdfast.model.address import Address, parse_address
from holdfast.model.begun import answering_tasks
from holdfast.model.evidence import Evidence
from holdfast.model.facts import AddressNotHere
from holdfast.model.findings import Cause, Confidence, Proof, Severity
from holdfast.model.remedies import AskHuman

IPS_SAID_MAX = 3


def detect(evidence: Evidence) -> Iterator[Proof]:
    answering = answering_tasks(evidence)
    last = {(fact.host, fact.task): fact for fact in evidence.of(AddressNotHere)}
    for fact in last.values():
        place = parse_address(fact.address)
        if fact.task in answering or not isinstance(place, Address):
            continue
        ips = ", ".join(fact.ips[:IPS_SAID_MAX])
        means = f", which is {ips}," if ips and ips != place.host else ""
        yield Proof(
            facts=(fact,),
            culprit=fact.task,
            confidence=Confidence.HIGH,
            says=(
                f"peers look for {fact.task} at {fact.address}{means} and {fact.host} has no such"
                " address"
            ),
            do=(
                f"compare: getent ahosts {place.host}; ip -brief address",
                f"correct the address of {fact.task}, or start it on the host that has it",
            ),
        )


cause = Cause(
    family="cluster-spec-mismatch",
    detect=detect,
    remedy=AskHuman(),
    severity=Severity.WARNING,
)

"""Two tasks of one cluster definition have the same address.

## What you see
One of them cannot listen on its port, or the two run on different hosts and one of them is never
found: `Could not start gRPC server`, or a start that waits for ever.

## Why it happens
A line was copied and its port or host was not changed, or several tasks share a host and the
script gives each host one port only.

## How to confirm it by hand
Sort the addresses of the definition and look for one that stands there twice.

## What to do
Give each task on a host a port of its own, in the definitions of all tasks.

## When this accusation would be wrong
When the two names are never started together. TensorFlow cannot know that, and waits for both.
"""

from collections.abc import Iterator
from functools import lru_cache

from holdfast.model.address import Complaint, is_loopback, normalised, parse_address
from holdfast.model.definitions import (
    NAMED_MAX,
    Definition,
    blamed,
    clauses,
    definitions,
    gathered,
    owners,
    proving,
    shown,
)
from holdfast.model.evidence import Evidence
from holdfast.model.findings import Cause, Proof
from holdfast.model.remedies import AskHuman
from holdfast.model.words import listed

PLACES_REMEMBERED_MAX = 65_536


def detect(evidence: Evidence) -> Iterator[Proof]:
    shared = ((_shared(definition), definition) for definition in definitions(evidence))
    for places, specs in gathered(shared).items():
        if not places:
            continue
        says = [f"{listed(tasks)} have the same address {place}" for place, tasks in places]
        change = [f"give {tasks[-1]} another port than {place}" for place, tasks in places]
        yield Proof(
            facts=proving(specs),
            culprit=blamed(specs, evidence),
            says=f"{clauses(says)} (in {owners(specs)})",
            do=(*change[:NAMED_MAX], "make the same change in the definitions of all tasks"),
        )


def _shared(definition: Definition) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """The addresses that several tasks have, each with their names."""
    at: dict[str, list[tuple[str, str]]] = {}
    for role, addresses in definition.cluster.items():
        for index, text in addresses.items():
            if text.strip():
                at.setdefault(_place(text), []).append((role, index))
    return tuple(
        (shown(place), tuple(f"{shown(role)}:{shown(index)}" for role, index in tasks))
        for place, tasks in at.items()
        if len(tasks) > 1
    )


@lru_cache(maxsize=PLACES_REMEMBERED_MAX)
def _place(text: str) -> str:
    """TensorFlow listens on all of a host's addresses: localhost and 127.0.0.1 are one place."""
    found = parse_address(text)
    if not isinstance(found, Complaint) and is_loopback(found.host):
        return f"localhost:{found.port}"
    return normalised(text)


cause = Cause(
    family="cluster-spec-mismatch",
    detect=detect,
    remedy=AskHuman(),
    preview=False,
    yields_to=frozenset({"spec-differs"}),
)

"""Two tasks would both believe that they lead the training.

## What you see
TensorFlow refuses the cluster: `There must be at most one 'chief' job`. Or nothing is refused, two
tasks write the same checkpoints, and a later restore finds them damaged or mixed.

## Why it happens
`chief` lists several addresses; `chief` and its old name `master` are both there; or the
definition of worker:0 lacks the chief that the others have: then worker:0 takes its place.

## How to confirm it by hand
Look at `chief` and `master` in every definition: one of them, with one address, in all or in none.

## What to do
Keep one chief with one address, the same in the definitions of all tasks.

## When this accusation would be wrong
A chief beside worker:0 in one definition is as it should be, and nobody is accused.
"""

from collections.abc import Iterator

from holdfast.model.cluster import TaskId
from holdfast.model.definitions import (
    Definition,
    blamed,
    definitions,
    gathered,
    owner,
    owners,
    proving,
    shown,
)
from holdfast.model.evidence import Evidence
from holdfast.model.findings import Cause, Proof
from holdfast.model.remedies import AskHuman
from holdfast.model.spec import claimed
from holdfast.model.words import listed

LEADERS = ("chief", "master")
WORKER_0 = TaskId("worker", 0)
ONE_CHIEF = "keep one chief with one address, in the definitions of all tasks"


def detect(evidence: Evidence) -> Iterator[Proof]:
    found = definitions(evidence)
    listed_twice = ((_leaders(definition), definition) for definition in found)
    for leaders, specs in gathered(listed_twice).items():
        if len(leaders) > 1:
            yield Proof(
                facts=proving(specs),
                culprit=blamed(specs, evidence),
                says=f"{listed(leaders)} would all lead the training (in {owners(specs)})",
                do=(ONE_CHIEF,),
            )
    yield from _usurped(found, evidence)


def _leaders(definition: Definition) -> tuple[str, ...]:
    return tuple(
        f"{role}:{shown(index)}" for role in LEADERS for index in definition.cluster.get(role, {})
    )


def _usurped(found: list[Definition], evidence: Evidence) -> Iterator[Proof]:
    """A worker:0 that does not know of the chief which the others have."""
    led = [spec for each in found for spec in each.specs if _leaders(each)]
    unled = [
        spec
        for each in found
        if not _leaders(each) and not each.cluster.get("ps")
        for spec in each.specs
    ]
    for spec in unled:
        if claimed(spec) == WORKER_0 and led:
            yield Proof(
                facts=(spec, *proving(led)),
                culprit=blamed([spec], evidence) if len(unled) == 1 < len(led) else None,
                says=(
                    f"worker:0 would lead the training, because {owner(spec)} has no chief,"
                    f" and so would the chief in {owners(led)}"
                ),
                do=(f"add the chief to {owner(spec)}, or remove it from all others", ONE_CHIEF),
            )


cause = Cause(
    family="cluster-spec-mismatch",
    detect=detect,
    remedy=AskHuman(),
    preview=False,
)

"""The evaluator is a member of the cluster, where the others wait for it.

## What you see
The start waits for the evaluator, or TensorFlow refuses the cluster. An evaluator that comes and
goes by itself takes the training down with it.

## Why it happens
It looks natural to list all tasks. TensorFlow wants the evaluator outside: it only reads the
checkpoints, and nobody talks to it.

## How to confirm it by hand
Look for `evaluator` inside `cluster`; as a `type` inside `task` it is right.

## What to do
Remove it from `cluster` everywhere, and keep `"task": {"type": "evaluator", "index": 0}` in the
evaluator's own definition.

## When this accusation would be wrong
When the program reads the list for its own purposes and removes the evaluator before TensorFlow
sees it.
"""

from collections.abc import Iterator

from holdfast.model.definitions import (
    Definition,
    blamed,
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


def detect(evidence: Evidence) -> Iterator[Proof]:
    found = ((_evaluators(definition), definition) for definition in definitions(evidence))
    for evaluators, specs in gathered(found).items():
        if not evaluators:
            continue
        yield Proof(
            facts=proving(specs),
            culprit=blamed(specs, evidence),
            says=(
                f"{listed(evaluators)} in the cluster: the others would wait for it, and it"
                f" belongs outside (in {owners(specs)})"
            ),
            do=(
                'remove "evaluator" from "cluster" in the definitions of all tasks',
                'keep "task": {"type": "evaluator", "index": 0} in the one of the evaluator',
            ),
        )


def _evaluators(definition: Definition) -> tuple[str, ...]:
    return tuple(
        f"evaluator:{shown(index)} is listed at {shown(address)}"
        for index, address in definition.cluster.get("evaluator", {}).items()
    )


cause = Cause(
    family="cluster-spec-mismatch",
    detect=detect,
    remedy=AskHuman(),
    preview=False,
)

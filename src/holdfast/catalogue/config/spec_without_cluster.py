"""A cluster definition is readable and names nobody: the task would train alone.

## What you see
No error at all. The task trains to the end by itself, with its own copy of the model, while the
others wait for it at the start, or do the same.

## Why it happens
`TF_CONFIG` is `{}`, has only its `task` part, or lists of addresses that are empty: the script
that fills them in ran before it knew the hosts.

## How to confirm it by hand
`echo "$TF_CONFIG"` in the same environment: `cluster` is missing, or has no address.

## What to do
Fill in the addresses before the program starts, the same in all tasks.

## When this accusation would be wrong
When a single task is what you want. Where nothing speaks of other tasks, this is a warning.
"""

from collections.abc import Iterator

from holdfast.model.definitions import by_culprit, definitions, owners, proving, specs_in_use
from holdfast.model.evidence import Evidence
from holdfast.model.facts import SpecRead
from holdfast.model.findings import Cause, Proof, Severity
from holdfast.model.remedies import AskHuman


def detect(evidence: Evidence) -> Iterator[Proof]:
    alone = [spec for spec in specs_in_use(evidence) if not any(spec.cluster.values())]
    has_others = _has_others(evidence)
    for culprit, specs in by_culprit(alone).items():
        yield Proof(
            facts=proving(specs),
            culprit=culprit if has_others else None,
            says=(
                f"{owners(specs)}: the definition has no cluster, so that TensorFlow trains"
                " alone, without a word, while others wait for it"
            ),
            do=(
                'add the addresses: "cluster": {"worker": ["host-a:2222", "host-b:2222"]}',
                "or start the tasks with `holdfast run`, which sets TF_CONFIG for each of them",
            ),
            severity=Severity.ERROR if has_others else Severity.WARNING,
        )


def _has_others(evidence: Evidence) -> bool:
    """Whether anybody knows of a cluster: we who started it, or a definition."""
    given = any(spec.given for spec in evidence.of(SpecRead))
    return given or bool(definitions(evidence)) or len(evidence.tasks) > 1


cause = Cause(
    family="cluster-spec-mismatch",
    detect=detect,
    remedy=AskHuman(),
    preview=False,
)

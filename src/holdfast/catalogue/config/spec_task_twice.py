"""Two definitions are for one and the same task.

## What you see
The second one that starts cannot listen on its port, or, on another host, listens where nobody
looks for it. The task that neither of them is never comes, and all wait for it.

## Why it happens
A file was copied and its index was not changed, a variable is the same on all hosts, or a task
was started twice.

## How to confirm it by hand
Compare the `task` part of the two definitions that the finding names.

## What to do
Give each task its own index.

## When this accusation would be wrong
When the two are never in use at the same time, such as a file that was kept as a copy; or when one
process merely started the other and passed its environment on, which makes the finding `likely`.
"""

from collections.abc import Iterator, Sequence

from holdfast.model.cluster import TaskId
from holdfast.model.definitions import definitions, owner, owners, proving, shown
from holdfast.model.evidence import Evidence
from holdfast.model.facts import SpecRead, TaskStarted
from holdfast.model.findings import Cause, Confidence, Proof
from holdfast.model.remedies import AskHuman
from holdfast.model.spec import claimed


def detect(evidence: Evidence) -> Iterator[Proof]:
    # A file and the process that was started with it are two sources, and no contradiction.
    claims: dict[tuple[TaskId, bool], list[SpecRead]] = {}
    for definition in definitions(evidence):
        for spec in definition.specs:
            claim = claimed(spec)
            if claim is not None:
                claims.setdefault((claim, spec.pid > 0), []).append(spec)
    for (claim, _), specs in claims.items():
        if len(specs) > 1 or _is_impostor(claim, specs[0], evidence):
            yield from _twice(claim, specs, evidence)


def _twice(claim: TaskId, specs: list[SpecRead], evidence: Evidence) -> Iterator[Proof]:
    rightful = [spec for spec in specs if not spec.pid or spec.task == claim]
    impostors = {spec.task: spec for spec in specs if spec.pid and spec.task != claim}
    for spec in impostors.values():
        yield Proof(
            facts=proving([spec, *rightful]),
            culprit=spec.task,
            says=f"{owner(spec)} says that it is {claim}" + _too(rightful),
            do=(
                f"set the task of {owner(spec)} to its own type and index",
                "or do not set TF_CONFIG: `holdfast run` gives every task its own",
            ),
        )
    if impostors or _is_one_task(claim, rightful, evidence):
        return
    yield Proof(
        facts=proving(specs),
        culprit=None,
        confidence=_confidence(specs),
        says=f"{len(specs)} definitions are for {claim}: {owners(specs)}",
        do=(
            (
                f"decide who is {claim}, and set the index of the others: see the `task` part of"
                f" {shown(specs[0].source)} and {shown(specs[1].source)}"
            ),
        ),
    )


def _is_impostor(claim: TaskId, spec: SpecRead, evidence: Evidence) -> bool:
    """A process of one task that says it is another, which we started as well."""
    other = spec.pid > 0 and spec.task not in {None, claim}
    return other and any(evidence.of(TaskStarted, claim))


def _too(rightful: Sequence[SpecRead]) -> str:
    return f", and so does {owners(rightful)}" if rightful else ""


def _is_one_task(claim: TaskId, specs: Sequence[SpecRead], evidence: Evidence) -> bool:
    """Processes of a task that we started ourselves: the second is its child."""
    return all(spec.pid for spec in specs) and any(evidence.of(TaskStarted, claim))


def _confidence(specs: Sequence[SpecRead]) -> Confidence:
    """Two processes of one host may be one task: who starts another passes TF_CONFIG on."""
    one_host = len({spec.host for spec in specs}) == 1
    return Confidence.LIKELY if one_host and all(s.pid for s in specs) else Confidence.CERTAIN


cause = Cause(
    family="cluster-spec-mismatch",
    detect=detect,
    remedy=AskHuman(),
    preview=False,
)

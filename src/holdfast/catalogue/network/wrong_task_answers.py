"""At a task's address answers another task.

## What you see
Often nothing: a ParameterServerStrategy whose chief has the addresses of a ps and a worker
swapped trains to the end, with the roles silently exchanged. Two tasks with the same index make
the leader say `different incarnation`, which sounds like a restart.

## Why it happens
Addresses in another order, two tasks started with the same index, a leftover of another job on
the same port, a TF_CONFIG copied from a neighbour and not changed.

## How to confirm it by hand
`holdfast attach HOST:PORT` asks the server who it is; or read `TF_CONFIG` in
`/proc/PID/environ` of the process that listens there.

## What to do
Make the addresses the same, in the same order, in all definitions, and give every task an index
of its own.

## When this accusation would be wrong
The answer is the server's own word, so it is not. Whose definition is the wrong one may stay open:
the finding names the task whose place is taken. It rests on an answer, not on silence: a starved
server gives none.
"""

from collections.abc import Iterator

from holdfast.model.cluster import TaskId
from holdfast.model.evidence import Evidence
from holdfast.model.facts import SpecRead
from holdfast.model.findings import Cause, Proof
from holdfast.model.path import Outcome
from holdfast.model.remedies import AskHuman
from holdfast.model.standing import Standing, standings


def detect(evidence: Evidence) -> Iterator[Proof]:
    strangers = {
        str(task): standing
        for task, standing in standings(evidence).items()
        if standing.look.outcome == Outcome.ANSWERED
        and standing.look.name
        and not standing.is_ready
    }
    for name, standing in strangers.items():
        other = strangers.get(standing.look.name)
        if other is None or other.look.name != name:
            yield _proof(standing)
        elif name < standing.look.name:
            yield _swapped(evidence, standing, other)


def _proof(standing: Standing) -> Proof:
    task, look = standing.task, standing.look
    return Proof(
        facts=(look,),
        culprit=task,
        says=f"at {look.address}, where {task} should be, answers {look.name}",
        do=(
            (
                f"look at the TF_CONFIG of the process that listens at {look.address}: its `task`"
                f" should be {task}"
            ),
            "make the addresses the same, and in the same order, in every TF_CONFIG",
        ),
    )


def _swapped(evidence: Evidence, one: Standing, other: Standing) -> Proof:
    owner = _owner(evidence, {one.task, other.task})
    whose = f"the TF_CONFIG of {owner}" if owner else "the definition"
    return Proof(
        facts=(one.look, other.look),
        culprit=owner or one.task,
        says=f"{one.task} and {other.task} are swapped in {whose}: at {one.look.address} answers"
        f" {one.look.name}, at {other.look.address} answers {other.look.name}",
        do=(f"swap the addresses of {one.task} and {other.task} in {whose}",),
    )


def _owner(evidence: Evidence, swapped: set[TaskId]) -> TaskId | None:
    """Whose definition this is, if it is one task's, and that task is not one of the two."""
    owners = {spec.task for spec in evidence.of(SpecRead) if not spec.given}
    owner = owners.pop() if len(owners) == 1 else None
    return owner if owner not in swapped else None


cause = Cause(
    family="cluster-spec-mismatch",
    detect=detect,
    remedy=AskHuman(),
    yields_to=frozenset({"spec-task-twice", "spec-differs", "spec-wrong-task"}),
)

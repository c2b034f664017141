"""A cluster definition is for a task that is not in its own cluster, or for none.

## What you see
The task ends at its start with a `ValueError` about `task_type` or `task_id`, `Task 7 was not
defined in job "worker"`, or `you must also specify task_type and task_id`. The others wait.

## Why it happens
The index counts from 1, or over all roles instead of within one; the type has a typo; or the
same file was copied to all hosts, without a `task`.

## How to confirm it by hand
Compare `task` with the lists in `cluster`: the index counts from 0 within its own role.

## What to do
Correct `task` in the definition that the finding names.

## When this accusation would be wrong
A coordinator of parameter servers may leave its `task` out; then this is a warning. An evaluator
is right to stand outside of the cluster, and nobody is accused.
"""

from collections.abc import Iterator, Mapping
from difflib import get_close_matches

from holdfast.model.definitions import (
    by_culprit,
    definitions,
    owner,
    owners,
    proving,
    shown,
)
from holdfast.model.evidence import Evidence
from holdfast.model.facts import SpecRead
from holdfast.model.findings import Cause, Proof, Severity
from holdfast.model.remedies import AskHuman
from holdfast.model.spec import claimed

Cluster = Mapping[str, Mapping[str, str]]
ROLES_COMPARED_MAX = 50
MISSING_DO = 'add who it is: "task": {"type": "worker", "index": 0}, with the index of each task'


def detect(evidence: Evidence) -> Iterator[Proof]:
    same: dict[tuple[Severity, str, str], list[SpecRead]] = {}
    for definition in definitions(evidence):
        for spec in definition.specs:
            wrong = _wrong(spec)
            if wrong is not None:
                same.setdefault(wrong, []).append(spec)
    for (severity, what, do), specs in same.items():
        is_error = severity is Severity.ERROR  # a warning accuses nobody
        for culprit, theirs in (by_culprit(specs) if is_error else {None: specs}).items():
            yield Proof(
                facts=proving(theirs),
                culprit=culprit,
                says=f"{owners(theirs)}: {what}",
                do=(do,),
                severity=severity,
            )


def _wrong(spec: SpecRead) -> tuple[Severity, str, str] | None:
    """How bad it is, what is wrong, and what to do; None when the task fits its cluster."""
    if not (spec.role and spec.index):
        return _missing(spec)
    if spec.role not in spec.cluster and spec.role != "evaluator":
        return _stranger(spec.role, spec.cluster)
    listed = spec.cluster.get(spec.role, {})
    if spec.role in spec.cluster and spec.index not in listed:
        indices = {bare for index in listed if (bare := _bare(index))}
        if _bare(spec.index) not in indices:
            return Severity.ERROR, *_beyond(spec.role, spec.index, len(indices))
    claim = claimed(spec)
    if spec.pid and spec.task is not None and claim not in {None, spec.task}:
        return (
            Severity.ERROR,
            f"it was started as {spec.task} and says that it is {claim}",
            (
                f'set "task": {{"type": "{spec.task.role}", "index": {spec.task.index}}} for'
                f" {owner(spec)}"
            ),
        )
    if spec.index_is_text:
        return (
            Severity.INFO,
            "the index is a text in quotes: TensorFlow takes it, other readers may not",
            f'write "index": {shown(spec.index)} without quotes',
        )
    return None


def _missing(spec: SpecRead) -> tuple[Severity, str, str]:
    has_servers = bool(spec.cluster.get("ps"))
    if spec.role or spec.index:
        what = "the task has no `index`" if spec.role else "the task has no `type`"
        return Severity.ERROR, what, MISSING_DO
    if has_servers:
        return (
            Severity.WARNING,
            (
                "it does not say which task it is for; only the coordinator of parameter servers"
                " can do without"
            ),
            MISSING_DO,
        )
    return (
        Severity.ERROR,
        "it does not say which task it is for; MultiWorkerMirroredStrategy ends at once",
        MISSING_DO,
    )


def _stranger(role: str, cluster: Cluster) -> tuple[Severity, str, str]:
    known = [name for name in cluster if len(name) <= len(role) * 2][:ROLES_COMPARED_MAX]
    by_lower = {name.lower(): name for name in (*known, "evaluator")}
    alike = get_close_matches(role.lower(), by_lower, 1)
    roles = shown(", ".join(list(cluster)[:ROLES_COMPARED_MAX]))
    guess = f'; the nearest is "{shown(by_lower[alike[0]])}"' if alike else ""
    do = (
        f'write "type": "{shown(by_lower[alike[0]])}"'
        if alike
        else f'add "{shown(role)}" with its address to the cluster, or correct the type'
    )
    return (
        Severity.ERROR,
        f'the cluster has no role "{shown(role)}", only {roles}{guess}',
        do,
    )


def _beyond(role: str, index: str, count: int) -> tuple[str, str]:
    role, index = shown(role), shown(index)
    one_off = "; indices count from 0" if index == str(count) else ""
    return (
        f"the cluster has no {role}:{index}, it has {count} of this role{one_off}",
        (
            f'set "index" to the place of this task in the list of "{role}", counted from 0; or add'
            " its address to the list, in all tasks"
        ),
    )


def _bare(index: str) -> str:
    """The digits without blanks and leading zeros; nothing for what is no number."""
    digits = index.strip()
    return (digits.lstrip("0") or "0") if digits.isascii() and digits.isdigit() else ""


cause = Cause(
    family="cluster-spec-mismatch",
    detect=detect,
    remedy=AskHuman(),
    preview=False,
    yields_to=frozenset({"spec-task-twice"}),
)

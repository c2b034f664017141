"""HDF5's file locks are switched off: several tasks can write one file, and nobody hears of it.

## What you see
Nothing, until the file is read: wrong values, `bad object header`, `wrong B-tree signature`.

## Why it happens
HDF5_USE_FILE_LOCKING=FALSE is the usual advice against `unable to lock file`. With it, several
tasks that open one file for writing all succeed, and overwrite each other's structures.

## How to confirm it by hand
`env | grep HDF5_USE_FILE_LOCKING` where the task starts; `grep -rn HDF5_USE_FILE_LOCKING` in the
program, and in the profile of the shell.

## What to do
Start the tasks without it. Where the storage has no locks, let one task only write each file, or
write through `holdfast.rows`, which needs none.

## When this accusation would be wrong
When every file is written by one task only. It is a warning, not an error.
"""

from collections.abc import Iterator

from holdfast.model.begun import begun_tasks, only_task_of
from holdfast.model.evidence import Evidence
from holdfast.model.facts import EnvironmentSeen, TaskExited, TaskStarted
from holdfast.model.findings import Cause, Confidence, Proof, Severity
from holdfast.model.program_facts import Hdf5LocksOff
from holdfast.model.remedies import AskHuman

VARIABLE = "HDF5_USE_FILE_LOCKING"
OFF = frozenset({"false", "0"})  # "best-effort" locks wherever it can


def detect(evidence: Evidence) -> Iterator[Proof]:
    if any(evidence.failures()):
        return  # from then on what happened counts, not what might
    begun = begun_tasks(evidence) | {fact.task for fact in evidence.of(TaskExited)}
    busy = {fact.host for fact in evidence.of(TaskStarted)}
    last = {(seen.host, seen.task): seen for seen in evidence.of(EnvironmentSeen)}
    for seen in last.values():
        if seen.task in begun or (seen.task is None and seen.host in busy):
            continue
        value = seen.variables.get(VARIABLE, "")
        if value.strip().lower() in OFF:
            yield _proof(evidence, seen, value)
    if not begun and not busy:
        yield from _in_program(evidence)


def _in_program(evidence: Evidence) -> Iterator[Proof]:
    """The first line of each file: more of them say nothing new."""
    lines: dict[str, Hdf5LocksOff] = {}
    for seen in evidence.of(Hdf5LocksOff):
        lines.setdefault(seen.file, seen)
    for seen in lines.values():
        place = f"{seen.file} line {seen.line}"
        yield Proof(
            facts=(seen,),
            culprit=None,
            place=place,
            confidence=Confidence.LIKELY,
            says=(
                f"{place} switches HDF5's file locks off ({seen.text}): two tasks that write one"
                " file damage it, and no error is raised"
            ),
            do=(
                f"take line {seen.line} out of {seen.file}",
                "or let each task write its own file: holdfast.rows needs no locks",
            ),
        )


def _proof(evidence: Evidence, seen: EnvironmentSeen, value: str) -> Proof:
    task = seen.task or only_task_of(evidence, seen.host)
    return Proof(
        facts=(seen,),
        culprit=task,
        confidence=Confidence.HIGH,
        says=(
            f"{VARIABLE}={value.strip()} switches HDF5's file locks off for"
            f" {task or f'every task started on {seen.host}'}: two tasks that write one file"
            " damage it, and no error is raised"
        ),
        do=(
            f"start the tasks without it: unset {VARIABLE}",
            "or let each task write its own file: holdfast.rows needs no locks",
        ),
    )


cause = Cause(
    family="hdf5-lock",
    severity=Severity.WARNING,
    detect=detect,
    remedy=AskHuman(),
)

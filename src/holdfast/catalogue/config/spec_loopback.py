"""An address in a cluster of several hosts means another host to each of them.

## What you see
The start waits for ever, or a task talks to itself: who looks for `localhost:2222` finds his own
host, and who looks for `0.0.0.0` finds nobody in particular.

## Why it happens
A definition that worked on one machine was extended by a second one, or the address to listen on
was taken for the address to be found at.

## How to confirm it by hand
`getent hosts NAME` on two hosts: the answer must be the same, and not 127.x or ::1.

## What to do
Write the name or the address by which the other hosts can reach it.

## When this accusation would be wrong
When all the hosts in the list are names of one and the same machine, and it is not known by them. A
cluster that is all on loopback, or on loopback and under the name of the one host that all its
definitions were read on, runs on one machine and is left alone; so is a task that calls only itself
localhost, while the others have its real name.
"""

from collections.abc import Iterator

from holdfast.model.address import Complaint, is_loopback, is_unspecified, parse_address
from holdfast.model.cluster import TaskId
from holdfast.model.definitions import (
    Definition,
    blamed,
    definitions,
    gathered,
    owners,
    proving,
)
from holdfast.model.evidence import Evidence
from holdfast.model.facts import SpecRead
from holdfast.model.findings import Cause, Proof, Severity
from holdfast.model.remedies import AskHuman
from holdfast.model.spec import claimed, members
from holdfast.model.words import listed

Local = tuple[tuple[TaskId, str], ...]


def detect(evidence: Evidence) -> Iterator[Proof]:
    found = definitions(evidence)
    for (local, one_machine), specs in gathered((_local(each), each) for each in found).items():
        tasks = [task for task, _ in local]
        if not local or (len(found) > 1 and _is_only_itself(specs, tasks)):
            continue
        yield Proof(
            facts=proving(specs),
            culprit=None if one_machine else blamed(specs, evidence, concerned=tasks),
            says=(
                f"{listed([f'{task} at {address}' for task, address in local])} cannot be found"
                f" from another host (in {owners(specs)})"
            ),
            do=(
                (
                    f"write the name of its host for {tasks[0]}, as the other hosts know it: see"
                    " `hostname -f` there"
                ),
                "make the same change in the definitions of all tasks",
            ),
            severity=Severity.WARNING if one_machine else Severity.ERROR,
        )


def _local(definition: Definition) -> tuple[Local, bool]:
    """Who has an address that means something else on each host; whether all are on one."""
    loopback, unspecified, elsewhere = [], [], 0
    tasks = members(definition.specs[0])
    for task, text in tasks.items():
        found = parse_address(text)
        if isinstance(found, Complaint):
            continue
        if is_unspecified(found.host):
            unspecified.append((task, str(found)))
        elif is_loopback(found.host):
            loopback.append((task, str(found)))
        elif not _is_here(found.host, definition):
            elsewhere += 1
    if len(tasks) == 1:
        return (), True
    if not elsewhere:
        return tuple(unspecified), True
    return (*unspecified, *loopback), False


def _is_here(host: str, definition: Definition) -> bool:
    """Whether it is the name of the one host on which all with this definition are."""
    hosts = {_short(spec.host) for spec in definition.specs}
    return hosts == {_short(host)}


def _short(host: str) -> str:
    """Without its domain; an address has none."""
    return host if host.replace(".", "").isdigit() else host.partition(".")[0].lower()


def _is_only_itself(specs: list[SpecRead], local: list[TaskId]) -> bool:
    """A task may call itself localhost, as long as the others have its real name."""
    return all(local == [claimed(spec)] for spec in specs)


cause = Cause(
    family="cluster-spec-mismatch",
    detect=detect,
    remedy=AskHuman(),
    preview=False,
)

"""The kernel reports a fault of a disk or file server that a task uses.

## What you see
Reads or writes that fail with `Input/output error`, a file system that became read-only, or
nothing but a job that hangs.

## Why it happens
A disk, cable or controller that is dying, a driver, a file server that is not responding.

## How to confirm it by hand
`dmesg -T | grep -E 'I/O error|EXT4-fs error|not responding'`; `smartctl -a DEVICE`

## What to do
Take the device or the host out of use, and start again from a checkpoint that can be read.

## When this accusation would be wrong
One bad sector that was read again harms nobody. So this is an error only when a task that uses
the device failed over it or stood still soon after; else it is a warning.
"""

from collections.abc import Iterator

from holdfast.model.cluster import TaskId
from holdfast.model.evidence import Evidence
from holdfast.model.facts import DiskMeasured
from holdfast.model.findings import Cause, Proof, Severity
from holdfast.model.hardware import device_proof, harmed_after
from holdfast.model.pattern import Pattern
from holdfast.model.remedies import AskHuman
from holdfast.model.watch_facts import KernelSaid

FAILED = Pattern(r"Input/output error|\[Errno 5\]|Read-only file system")


def detect(evidence: Evidence) -> Iterator[Proof]:
    told: set[tuple[str, str]] = set()
    for said in evidence.of(KernelSaid):
        users = _users(evidence, said)
        if said.about == "io-error" and users and (said.host, said.device) not in told:
            told.add((said.host, said.device))
            yield _proof(evidence, said, users)


def _users(evidence: Evidence, said: KernelSaid) -> set[TaskId | None]:
    """The tasks that write to this disk; None: Holdfast itself does, for all of them."""
    return {
        room.task
        for room in evidence.of(DiskMeasured)
        if room.host == said.host and _is_on(room.device, said.device)
    }


def _is_on(device: str, disk: str) -> bool:
    """Whether a file system's device is this disk, or a part of it: sda1 and nvme0n1p2."""
    if not device or not device.startswith(disk):
        return False
    return device == disk or device.removeprefix(disk).removeprefix("p").isdigit()


def _proof(evidence: Evidence, said: KernelSaid, users: set[TaskId | None]) -> Proof:
    suffering = harmed_after(evidence, said, FAILED)
    harmed = next((fact for fact in suffering if fact.task in users or None in users), None)
    culprit = harmed.task if harmed else min((user for user in users if user), default=None)
    return device_proof(
        said,
        harmed,
        culprit,
        says=f"the kernel of {said.host} reports I/O errors of {said.device}",
        do=(
            f"on {said.host}: dmesg -T | tail -50; smartctl -a /dev/{said.device}",
            f"take {said.device} out of use, then start again from a checkpoint that can be read",
        ),
    )


cause = Cause(
    family="task-stalled",
    detect=detect,
    hears=(FAILED,),
    remedy=AskHuman(),
    severity=Severity.WARNING,
)

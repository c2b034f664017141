"""The kernel reports a fault of a disk or a GPU that a task uses.

## What you see
Reads or writes that fail with `Input/output error`, a file system that became read-only, CUDA
errors that no program explains, or nothing but a job that hangs.

## Why it happens
A disk, cable, controller or GPU that is dying; a driver; a file server that is not responding.

## How to confirm it by hand
`dmesg -T | grep -E 'I/O error|EXT4-fs error|Xid'`; `smartctl -a DEVICE`; `nvidia-smi -q`

## What to do
Take the device or the host out of use, and start again from a checkpoint that can be read.

## When this accusation would be wrong
One bad sector that was read again harms nobody. So this is an error only when a task that uses
the device failed or stood still soon after; else it is a warning.
"""

from collections.abc import Iterator

from holdfast.model.cluster import TaskId
from holdfast.model.evidence import Evidence
from holdfast.model.facts import DiskMeasured, Fact
from holdfast.model.findings import Cause, Confidence, Proof, Severity
from holdfast.model.pattern import Pattern
from holdfast.model.remedies import AskHuman
from holdfast.model.watch_facts import KernelSaid, TaskMoves, TaskStill

AFTER_S = 60.0
LAG_S = 5.0  # we read the kernel's log a little after it was written
TRY_AGAIN_CODE = 75
IO_FAILED = Pattern(r"Input/output error|\[Errno 5\]|Read-only file system")
GPU_FAILED = Pattern(r"CUDA_ERROR_|CUDNN_STATUS_|illegal memory access|Failed to query stream")
FAILED = {"io-error": IO_FAILED, "gpu": GPU_FAILED}


def detect(evidence: Evidence) -> Iterator[Proof]:
    told: set[tuple[str, str]] = set()
    for said in evidence.of(KernelSaid):
        if said.about not in FAILED or (said.host, said.device) in told:
            continue
        users = _users(evidence, said)
        if users:
            told.add((said.host, said.device))
            yield _proof(evidence, said, users)


def _users(evidence: Evidence, said: KernelSaid) -> list[TaskId | None]:
    """The tasks whom the kernel names, or that write to this disk; None: Holdfast itself does."""
    if said.task is not None:
        return [said.task]
    if said.about == "gpu":
        return [None]
    return [
        room.task
        for room in evidence.of(DiskMeasured)
        if room.host == said.host and _is_on(room.device, said.device)
    ]


def _is_on(device: str, disk: str) -> bool:
    """Whether a file system's device is this disk, or a part of it: sda1 and nvme0n1p2."""
    part = device.removeprefix(disk)
    return bool(device and disk) and (device == disk or part.removeprefix("p").isdigit())


def _proof(evidence: Evidence, said: KernelSaid, users: list[TaskId | None]) -> Proof:
    harmed = next((fact for fact in _harmed(evidence, said) if fact.task in users), None)
    # Whoever did not name a user of its own has all tasks of the host for users.
    if harmed is None and None in users:
        harmed = next(iter(_harmed(evidence, said)), None)
    facts: tuple[Fact, ...] = (said, harmed) if harmed else (said,)
    culprit = harmed.task if harmed else next((user for user in users if user), None)
    what = "a fault of a GPU" if said.about == "gpu" else f"I/O errors of {said.device}"
    whose = f", which {culprit} uses" if culprit else ""
    then = ""
    if harmed is not None:
        then = ", and stands still" if isinstance(harmed, TaskStill) else ", and failed over it"
    tool = "nvidia-smi -q" if said.about == "gpu" else f"smartctl -a /dev/{said.device}"
    return Proof(
        facts=facts,
        culprit=culprit,
        confidence=Confidence.HIGH if said.task or harmed else Confidence.LIKELY,
        severity=Severity.ERROR if harmed else Severity.WARNING,
        says=f"the kernel of {said.host} reports {what}{whose}{then}: {said.text}",
        do=(
            f"on {said.host}: dmesg -T | tail -50; {tool}",
            f"take {said.device or 'the device'} out of use, then start again from a checkpoint",
        ),
        exit_code=TRY_AGAIN_CODE if harmed else 1,
    )


def _harmed(evidence: Evidence, said: KernelSaid) -> Iterator[Fact]:
    """Who of that host failed with words about it soon after, or stands still since then."""
    for failure in evidence.failures():
        soon = said.at_s - LAG_S <= failure.at_s <= said.at_s + AFTER_S
        over_it = failure.task == said.task or evidence.ended_over(failure, FAILED[said.about])
        if soon and over_it and failure.host == said.host:
            yield failure
    moved = {fact.task: fact.at_s for fact in evidence.of(TaskMoves)}
    for still in evidence.of(TaskStill):
        began_s = still.at_s - still.still_s
        near = abs(began_s - said.at_s) <= AFTER_S and still.host == said.host
        if near and still.at_s > moved.get(still.task, -1.0):
            yield still


cause = Cause(
    family="gpu-fault",
    detect=detect,
    hears=(IO_FAILED, GPU_FAILED),
    remedy=AskHuman(),
    severity=Severity.WARNING,
)

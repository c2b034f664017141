"""A disk that the job writes to has little room left.

## What you see
At first nothing. Later `No space left on device`, at the first checkpoint or after
hours, and a checkpoint that is cut off.

## Why it happens
Checkpoints, event files or logs of earlier jobs fill the file system, or its inodes.

## How to confirm it by hand
`df -h DIRECTORY` and `df -i DIRECTORY`

## What to do
Free space, keep fewer checkpoints, or write to a larger disk.

## When this accusation would be wrong
When the job writes less than what is left, or what fills the disk stops soon: while a job runs,
the newest look counts, and the pace of the last minute. Once a task has failed this says nothing
more: then it counts what the task died of.
"""

import shlex
from collections.abc import Iterable, Iterator

from holdfast.model.evidence import Evidence
from holdfast.model.facts import AttemptStarted, DiskMeasured
from holdfast.model.findings import Cause, Confidence, Proof, Severity
from holdfast.model.remedies import AskHuman
from holdfast.model.words import seconds_text

MIB, GIB = 1 << 20, 1 << 30
FULL_BYTES = 64 * MIB
SCARCE_BYTES = GIB
SCARCE_SHARE = 0.05
FULL_SHARE = 0.001
PLENTY_BYTES = 100 * GIB  # 5 % of a file server is more than most jobs ever write
SCARCE_INODE_SHARE = 0.01


def detect(evidence: Evidence) -> Iterator[Proof]:
    if any(evidence.failures()):
        return
    runs = any(evidence.of(AttemptStarted))
    told: set[tuple[str, int, int]] = set()
    for room in _newest(evidence):
        disk = (room.host, room.total_bytes, room.total_inodes)
        if room.total_bytes <= 0 or disk in told or evidence.exit_of(room.task):
            continue
        severity = _severity_now(room) if runs else _severity(room)
        if severity is not None:
            told.add(disk)
            yield _proof(room, severity)


def _newest(evidence: Evidence) -> Iterable[DiskMeasured]:
    """Of each place the last look: what was scarce may have been freed."""
    last: dict[tuple[str, str], DiskMeasured] = {}
    for room in evidence.of(DiskMeasured):
        last[room.host, room.path] = room
    return last.values()


def _severity_now(room: DiskMeasured) -> Severity | None:
    """While a job writes there, what counts is what is left of it, however small it is."""
    share = room.free_bytes / room.total_bytes
    if share < FULL_SHARE or room.free_inodes == 0:
        return Severity.ERROR
    scarce = share < SCARCE_SHARE and room.free_bytes < PLENTY_BYTES
    if scarce or room.left_s >= 0 or _few_inodes(room):
        return Severity.WARNING
    return None


def _severity(room: DiskMeasured) -> Severity | None:
    """Before a start nobody knows how much the job will write."""
    if room.free_bytes < FULL_BYTES or room.free_inodes == 0:
        return Severity.ERROR
    share = min(PLENTY_BYTES, room.total_bytes * SCARCE_SHARE)
    if room.free_bytes < max(SCARCE_BYTES, share) or _few_inodes(room):
        return Severity.WARNING
    return None


def _few_inodes(room: DiskMeasured) -> bool:
    return 0 <= room.free_inodes < room.total_inodes * SCARCE_INODE_SHARE


def _proof(room: DiskMeasured, severity: Severity) -> Proof:
    path = shlex.quote(room.path)
    inodes = _few_inodes(room) or room.free_inodes == 0
    left = (
        f"{room.free_inodes:,} files can still be made"
        if inodes
        else f"{_size(room.free_bytes)} of {_size(room.total_bytes)} are free"
    )
    purpose = f" ({room.purpose})" if room.purpose else ""
    pace = "" if room.left_s < 0 else f": at this pace it is full in {seconds_text(room.left_s)}"
    return Proof(
        facts=(room,),
        culprit=room.task,
        severity=severity,
        confidence=Confidence.HIGH,
        says=f"{left} at {room.path}{purpose} on {room.host}{pace}",
        do=(
            f"see what fills it: du --inodes -xd1 {path} | sort -n"
            if inodes
            else f"see what fills it: du -xhd1 {path} | sort -h",
            "keep fewer checkpoints (max_to_keep), or write to a larger disk",
        ),
    )


def _size(count: int) -> str:
    return f"{count / GIB:,.1f} GiB" if count >= GIB else f"{count / MIB:,.0f} MiB"


cause = Cause(
    family="disk-full",
    detect=detect,
    remedy=AskHuman(),
    severity=Severity.WARNING,
)

"""A task could not write because the disk, or its quota, is full.

## What you see
`No space left on device` or `Disk quota exceeded`. TensorFlow calls it RESOURCE_EXHAUSTED and
adds a hint about out-of-memory, which is wrong. When the full disk is the one with the logs,
the task ends without a word.

## Why it happens
Checkpoints, event files or logs filled the file system, or its inodes.

## How to confirm it by hand
`df -h DIRECTORY` and `df -i DIRECTORY`; `quota -s` where there are quotas.

## What to do
Free space, keep fewer checkpoints, or write to a larger disk.

## When this accusation would be wrong
When the task met a full disk, coped with it, and ended for another reason. Such a line alone
accuses nobody: the task must have failed.
"""

from collections.abc import Iterator

from holdfast.model.evidence import Evidence
from holdfast.model.facts import DiskMeasured, Fact, LastWords, TaskExited
from holdfast.model.findings import Cause, Confidence, Proof
from holdfast.model.pattern import Pattern
from holdfast.model.remedies import AskHuman

FULL = Pattern(r"No space left on device|ENOSPC|[Dd]isk quota exceeded|EDQUOT|\[Errno 28\]")
# TensorFlow writes `PATH; No space left on device`, Python `No space left on device: 'PATH'`.
BEFORE, AFTER = Pattern(r"(/[^\s;'\"]+); "), Pattern(r"(?:on device|exceeded): '([^']+)'")
FULL_BYTES = 65_536


def detect(evidence: Evidence) -> Iterator[Proof]:
    for failure in evidence.failures():
        said = next(evidence.lines(FULL, failure.task), None)
        rooms = list(evidence.of(DiskMeasured, failure.task))
        full = next((room for room in rooms if room.free_bytes < FULL_BYTES), None)
        if said is not None and evidence.ended_over(failure, FULL):
            place = AFTER.search(said.text) or BEFORE.search(said.text)
            where = place.group(1) if place else (full.path if full else "")
            yield _proof(failure, (said, *((full,) if full else ())), where, Confidence.CERTAIN)
        elif full and full.purpose == "logs" and not any(evidence.of(LastWords, failure.task)):
            yield _proof(failure, (full,), full.path, Confidence.LIKELY)


def _proof(
    failure: TaskExited, facts: tuple[Fact, ...], where: str, confidence: Confidence
) -> Proof:
    at = f" at {where}" if where else ""
    return Proof(
        facts=(*facts, failure),
        culprit=failure.task,
        confidence=confidence,
        says=f"{failure.task} could not write{at}: the disk is full",
        do=(
            f"free space: df -h {where.rpartition('/')[0]}".rstrip(),
            "keep fewer checkpoints (max_to_keep), or write them to a larger disk",
        ),
    )


cause = Cause(
    family="disk-full",
    detect=detect,
    hears=(FULL,),
    remedy=AskHuman(),
    preview=False,
)

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
from holdfast.model.wording import Weight, Words

FULL = Pattern(
    r"[Nn]o space left|[Ff]ile ?system (?:is )?full|ENOSPC|[Dd]isk quota exceeded|EDQUOT"
    r"|\[Errno 28\]|errno = 28\b"
)
# TensorFlow writes `PATH; No space left on device`, Python `No space left on device: 'PATH'`.
BEFORE, AFTER = Pattern(r"(/[^\s;'\"]+); "), Pattern(r"(?:on device|exceeded): '([^']+)'")
FULL_BEFORE = Pattern(
    r"(?P<culprit>[^\s;:'\"]+?)(?:\.tempstate\d+)?; (?:No space left on dev|Disk quota exc)"
)
FULL_AFTER = Pattern(r"(?:No space left on device|[Dd]isk quota exceeded): '(?P<culprit>[^']+)'")
# Old TensorFlow names only the file that it could not write, and the status.
UNNAMED = Pattern(
    r"(?:ResourceExhaustedError|Resource exhausted): (?P<culprit>[^\s;:'\"]+)\.tempstate\d+"
)
OTHER_LIMITS = Pattern(r"Too many open files|; [A-Z]")
# PyTorch: the disk is full or failing, and only the system's log knows which.
NOT_WRITTEN = Pattern(
    r"\bwrite\(\): fd \d+ failed with |Error: File (?P<culprit>\S+) cannot be opened\.$"
)
FULL_BYTES = 65_536
# Shared memory is no disk, and inotify says so of its watches.
ELSEWHERE = Pattern(r"/dev/shm|[Ss]hared memory|posix_fallocate failed|inotify|</torch_")


def detect(evidence: Evidence) -> Iterator[Proof]:
    for failure in evidence.failures():
        said = next(evidence.lines(FULL, failure.task), None)
        rooms = list(evidence.of(DiskMeasured, failure.task))
        full = next((room for room in rooms if room.free_bytes < FULL_BYTES), None)
        if said is not None and evidence.ended_over(failure, FULL):
            place = AFTER.search(said.text) or BEFORE.search(said.text)
            full = full or _filling(evidence, failure)
            where = place.group(1) if place else (full.path if full else "")
            yield _proof(failure, (said, *((full,) if full else ())), where, Confidence.CERTAIN)
        elif full and full.purpose == "logs" and not any(evidence.of(LastWords, failure.task)):
            yield _proof(failure, (full,), full.path, Confidence.LIKELY)


def _filling(evidence: Evidence, failure: TaskExited) -> DiskMeasured | None:
    """The one disk of its host that was seen to run full; None: it may be any."""
    last = {room.path: room for room in evidence.of(DiskMeasured) if room.host == failure.host}
    found = [room for room in last.values() if room.left_s >= 0]
    return found[0] if len(found) == 1 else None


def _proof(
    failure: TaskExited, facts: tuple[Fact, ...], where: str, confidence: Confidence
) -> Proof:
    at = f" at {where}" if where else ""
    is_folder = any(isinstance(fact, DiskMeasured) and fact.path == where for fact in facts)
    folder = where if is_folder else where.rpartition("/")[0]
    return Proof(
        facts=(*facts, failure),
        culprit=failure.task,
        confidence=confidence,
        says=f"{failure.task} could not write{at}: the disk is full",
        do=(
            f"free space: df -h {folder}".rstrip(),
            "keep fewer checkpoints (max_to_keep), or write them to a larger disk",
        ),
    )


cause = Cause(
    family="disk-full",
    detect=detect,
    hears=(FULL,),
    words=(
        Words(FULL_BEFORE, unless=ELSEWHERE, of_speaker=True),
        Words(FULL_AFTER, unless=ELSEWHERE, of_speaker=True),
        Words(FULL, unless=ELSEWHERE),
        Words(UNNAMED, unless=OTHER_LIMITS, of_speaker=True),
        Words(NOT_WRITTEN, Weight.SIGN, unless=FULL, of_speaker=True),
        Words(
            Pattern(
                r"PytorchStreamWriter failed (?:writing|closing|finalizing)"
                r"|inline_container\.cc:\d+\] \. unexpected pos"
            )
        ),
        Words(
            Pattern(r"basic_ios::clear: iostream error|No usable temporary directory found"),
            Weight.SIGN,
        ),
        Words(Pattern(r"\b\d+ requested and \d+ written")),
        Words(
            Pattern(
                r"kind: StorageFull|[DN]SQuotaExceededException|FileStream\.Write incomplete"
                r"|database or disk is full|(?i:not enough space on the disk)"
                r"|(?i:(?:out of|insufficient|not enough(?: free)?|no(?: free)?) disk space)"
                r"|(?i:disk is full)|(?i:not enough (?:free )?space (?:on|left|to (?:write|save)))"
            ),
            unless=Pattern(r"(?i:warning)|No space left"),
        ),
    ),
    do=(
        "free space: df -h DIRECTORY; df -i DIRECTORY; quota -s",
        "keep fewer checkpoints (max_to_keep), or write them to a larger disk",
    ),
    remedy=AskHuman(),
    preview=False,
)

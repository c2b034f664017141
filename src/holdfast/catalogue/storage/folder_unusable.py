"""A directory that the job needs cannot be used: no writing, no locks or no appending.

## What you see
A chief that fails at its first checkpoint, minutes or hours after the start, with
`Permission denied` or `Read-only file system`; HDF5's `unable to lock file`; log files with
holes or lost lines.

## Why it happens
The directory belongs to somebody else, is mounted read-only, or is missing on this host; or
it lies on a file system that was mounted without locks, such as lustre without `flock` or NFS
without its lock service.

## How to confirm it by hand
`touch DIRECTORY/x && rm DIRECTORY/x`, `findmnt -T DIRECTORY`, and
`flock -n DIRECTORY/x sleep 9 & flock -n DIRECTORY/x true`, which must fail.

## What to do
Give the user that runs the tasks the right to write, or mount it writable; mount lustre with
`-o flock`, use NFS 4, or keep what needs locks on another file system.

## When this accusation would be wrong
When the tasks run as another user than the one who looked, or in a container that sees
another directory under this name.
"""

import shlex
from collections.abc import Iterator

from holdfast.model.evidence import Evidence
from holdfast.model.facts import DiskMeasured, FolderMeasured
from holdfast.model.findings import Cause, Confidence, Proof, Severity
from holdfast.model.remedies import AskHuman

WORKS = frozenset({"", "works"})
FULL = "No space left on device"
FULL_BYTES = 64 << 20
LOCKS_BY_MOUNT = {
    "lustre": "mount it with locks: mount -o remount,flock MOUNTPOINT",
    "nfs": "start the lock service: systemctl enable --now rpc-statd, or mount it with vers=4.2",
}


def detect(evidence: Evidence) -> Iterator[Proof]:
    last = {(fact.host, fact.task, fact.path): fact for fact in evidence.of(FolderMeasured)}
    for folder in last.values():
        if folder.write not in WORKS:
            if not (folder.write.startswith(FULL) and _is_full(evidence, folder)):
                yield _not_writable(folder)
        elif folder.locks not in WORKS or folder.append not in WORKS:
            yield _not_shared(folder)


def _is_full(evidence: Evidence, folder: FolderMeasured) -> bool:
    """Whether that is the disk's fault, and a finding of its own."""
    return any(
        room.host == folder.host
        and room.purpose == folder.purpose
        and (room.free_bytes < FULL_BYTES or room.free_inodes == 0)
        for room in evidence.of(DiskMeasured)
    )


def _not_writable(folder: FolderMeasured) -> Proof:
    return Proof(
        facts=(folder,),
        culprit=folder.task,
        confidence=Confidence.HIGH,
        says=f"the job cannot write {_named(folder)}: {folder.write}",
        do=_make_writable(folder),
    )


def _make_writable(folder: FolderMeasured) -> tuple[str, ...]:
    path = shlex.quote(folder.path)
    if folder.write.startswith("Read-only"):
        return (
            f"see how it is mounted: findmnt -T {path}",
            "mount it writable: mount -o remount,rw MOUNTPOINT, or choose another directory",
        )
    if folder.write.startswith(("No such", "Not a directory")):
        return (f"make the directory: mkdir -p {path}", "or choose another one")
    if folder.write.startswith((FULL, "Disk quota")):
        return (f"free space: df -h {path}; df -i {path}; quota -s", "or choose another one")
    return (
        f"see whose it is: ls -ld {path}; id",
        f'make it yours: sudo install -d -o "$USER" {path}, or choose another one',
    )


def _not_shared(folder: FolderMeasured) -> Proof:
    locks = folder.locks not in WORKS
    broken = (
        f"locks do not work ({folder.locks})" if locks else f"appending fails ({folder.append})"
    )
    advice = LOCKS_BY_MOUNT.get(folder.filesystem.rstrip("34"), "") if locks else ""
    return Proof(
        facts=(folder,),
        culprit=folder.task,
        severity=Severity.WARNING,
        confidence=Confidence.HIGH,
        says=f"{broken} {_named(folder)}",
        do=(
            *((advice,) if advice else ()),
            "for HDF5 files with one writer: export HDF5_USE_FILE_LOCKING=FALSE"
            if locks
            else "give each task a file of its own there",
            f"or use another file system than this one: findmnt -T {shlex.quote(folder.path)}",
        ),
    )


def _named(folder: FolderMeasured) -> str:
    kind = f", which is {folder.filesystem}" if folder.filesystem else ""
    return f"in {folder.path} ({folder.purpose}) on {folder.host}{kind}"


cause = Cause(family="auth-permission", detect=detect, remedy=AskHuman())

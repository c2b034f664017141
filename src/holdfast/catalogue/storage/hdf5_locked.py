"""An HDF5 file could not be locked: another process has it open, or its file system has no locks.

## What you see
`unable to lock file, errno = 11, error message = 'Resource temporarily unavailable'`; errno 37,
38, 77 or 524 instead of 11 where the file system has no locks at all.

## Why it happens
Several tasks open one file for writing (every one of them saves the model), or one reads while
another writes. On NFS, Lustre and mounted buckets, locks may be switched off.

## How to confirm it by hand
`fuser -v FILE` or `lsof FILE` on every host; `flock FILE true` tells whether the file system has
locks.

## What to do
Let one task only write, or give each its own file name. `HDF5_USE_FILE_LOCKING=FALSE` only takes
the error away: with two writers it damages the file in silence. Set it only on storage without
locks, for files that one task writes.

## When this accusation would be wrong
When the program tries again until the lock is free, and goes on.
"""

from holdfast.model.findings import Cause
from holdfast.model.pattern import Pattern
from holdfast.model.remedies import AskHuman
from holdfast.model.wording import Words

NOT_LOCKED = Pattern(
    r"[Uu]nable to lock (?:the )?file\b|[Ff]ile locking disabled on this file system"
    r"|Refused: no locks that hold: "
)
# A file of HDF5 that a line near it names.
FILE = Pattern(
    r"(?:saving model to|[Ll]oading (?:the )?(?:model|weights|data) from|HDF5 file|[Nn]ame ="
    r"|open_file\(|h5py\.File\(|load_weights\(|load_model\() *[\"']?"
    r"(?P<culprit>[^\s\"',;:()<>]+\.(?:h5|hdf5|hdf|he5|keras))"
)
SAYS = "{who} could not lock an HDF5 file: {line}"

cause = Cause(
    family="hdf5-lock",
    words=(Words(NOT_LOCKED, says=SAYS),),
    do=(
        "find who has the file open: lsof FILE, on every host",
        "let one task write each file; HDF5_USE_FILE_LOCKING=FALSE with two writers damages it",
    ),
    remedy=AskHuman(),
    where=(FILE,),
)

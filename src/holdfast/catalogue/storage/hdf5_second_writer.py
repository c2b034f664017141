"""An HDF5 file is open already, and cannot be opened a second time in this way.

## What you see
`unable to truncate a file which is already open`, `file is already open for write`, `file is
already open for read-only`; from Holdfast's own guard `all.h5 is held for writing by worker:3
(pid 71 on host-a) since …`.

## Why it happens
The same process opened it twice and never closed it, or a writer died without closing it and left
its mark in the file (`may use <h5clear file> to clear file consistency flags`).

## How to confirm it by hand
`lsof FILE`: nobody has it open, and it still fails: the mark of a writer that died.

## What to do
Open files with `with h5py.File(...) as f:`, one writer for each file. After a writer's death:
`holdfast rescue FILE`, or `h5clear -s --increment=0` on a copy. `h5clear -s` alone cuts off what a
SWMR writer wrote.

## When this accusation would be wrong
When the program opens the file another way after this, and goes on.
"""

from holdfast.model.findings import Cause
from holdfast.model.pattern import Pattern
from holdfast.model.remedies import AskHuman
from holdfast.model.wording import Words

# HDF5 1.8 begins its messages with a capital letter.
OPEN_ALREADY = Pattern(
    r"[Uu]nable to truncate a file which is already open"
    r"|[Ff]ile is already open(?:ed)? for (?:write|read-only|SWMR)"
    r"|[Uu]nable to (?:\w+ )?(?:open|create) file \(.*already open"
    r"|The file '[^']+' is already opened(?:\.|, but in)"
    r"|[Ff]ile close degree doesn't match"
)
# The guard's own words, and those of a lease; it names who holds the file.
HELD = Pattern(r"is held for writing by \S.{0,200} \(pid \d+ on [^\s)]+\) since ")
SAYS = "{who} opened an HDF5 file that is open already: {line}"

cause = Cause(
    family="hdf5-lock",
    words=(Words(OPEN_ALREADY, says=SAYS), Words(HELD, says=SAYS)),
    do=(
        "close it where it was opened first: with h5py.File(...) as f",
        "after a writer has died: holdfast rescue FILE",
    ),
    remedy=AskHuman(),
)

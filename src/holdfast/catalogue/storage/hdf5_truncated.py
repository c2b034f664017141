"""An HDF5 file is cut off, damaged, or no HDF5 file at all.

## What you see
`truncated file: eof = 3000, sblock->base_addr = 0, stored_eof = 10048`, `file signature not
found`, `bad object header version number`, `addr overflow`, `filter returned failure during
read`.

## Why it happens
The writer was killed or the disk was full before the file was closed, a download broke off, two
processes wrote into one file, or the file is something else: a Git LFS pointer, a web page.

## How to confirm it by hand
`h5ls -r FILE` and `head -c 8 FILE | xxd`: the first letters of a whole file are `.HDF`. Compare its
size with `stored_eof`.

## What to do
`holdfast rescue FILE` saves what still reads. Get or write the file again. Write checkpoints to a
temporary name and rename them when they are whole.

## When this accusation would be wrong
When the loader tries formats one after another, and goes on with the next.
"""

from holdfast.model.findings import Cause
from holdfast.model.pattern import Pattern
from holdfast.model.remedies import AskHuman
from holdfast.model.wording import Words

# HDF5 1.8 begins its messages with a capital letter.
DAMAGED = Pattern(
    r"[Tt]runcated file(?:: eof = \d+|\))|HDF5\b[^\n]*(?:past end of file"
    r"|unable to read superblock)"
    r"|[Ff]ile signature not found|[Uu]nable to find a valid file sig"
    r"|[Bb]ad object header|[Aa]ddr(?:ess)? overflow(?:ed)?, addr ?=|\([Aa]ddr overflow"
    r"|[Ww]rong (?:B-tree|fractal heap|symbol table node|global heap|object header) signature"
    r"|[Bb]ad (?:symbol table node|B-tree|fractal heap) signature"
    r"|[Bb]ad (?:local|global) heap|[Bb]ad heap free list|[Bb]ad superblock"
    r"|[Ii]ncorrect metadata checksum|[Ff]ilter returned failure during read"
    r"|[Uu]nable to (?:\w+ )?(?:open|read|get) (?:file|object|dataset|data|group|attribute"
    r") \((?:[Bb]ad|[Ww]rong|[Ii]nc|[Cc]orr)"
    r"|[Cc]an't (?:\w+ )?(?:read|open|get) .*\((?:[Ww]rong|[Bb]ad|[Ii]nflate\(\)|[Ii]ncorrect)"
    r"|\([Ff]ile read failed\b"
    r"|[Ff]ile read failed: time = .* filename = |[Uu]nable to read superblock"
    r"|holdfast\.rows\.errors\.Damaged: "
)
# A file of HDF5 that a line near it names.
FILE = Pattern(
    r"(?:saving model to|[Ll]oading (?:the )?(?:model|weights|data) from|HDF5 file|[Nn]ame ="
    r"|open_file\(|h5py\.File\(|load_weights\(|load_model\() *[\"']?"
    r"(?P<culprit>[^\s\"',;:()<>]+\.(?:h5|hdf5|hdf|he5|keras))"
)
SAYS = "{who} read an HDF5 file that is cut off or damaged: {line}"

cause = Cause(
    family="hdf5-truncated",
    words=(Words(DAMAGED, says=SAYS),),
    do=(
        "save what still reads: holdfast rescue FILE",
        "get or write it again; write to a temporary name and rename it when it is whole",
    ),
    remedy=AskHuman(),
    yields_to=frozenset({"hdf5-two-writers"}),
    where=(FILE,),
)

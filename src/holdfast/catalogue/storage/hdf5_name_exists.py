"""A name was created in an HDF5 file that holds it already.

## What you see
`Unable to create link (name already exists)`, `Unable to create dataset (name already exists)`,
`Unable to create group (name already exists)`.

## Why it happens
Two tasks write into one file at the same time, the file of an earlier run was opened for
appending, or two layers or weights of a model have the same name.

## How to confirm it by hand
`h5ls -r FILE` shows the name. In Keras: `[w.name for w in model.weights]` holds one of them
twice.

## What to do
Let one task only write the file, open it with mode `w` for a new one, use `require_group` and
`require_dataset`, and give layers their own names.

## When this accusation would be wrong
When the program catches it and takes what is there.
"""

from holdfast.model.findings import Cause
from holdfast.model.pattern import Pattern
from holdfast.model.remedies import AskHuman
from holdfast.model.wording import Weight, Words

# HDF5 1.8 begins its messages with a capital letter.
TAKEN = Pattern(
    r"[Uu]nable to (?:\w+ )?create \w[\w ]*\(.*already exists\)|\((?:unable to create link: )?"
    r"[Nn]ame already exists\)|H5\w+\(\): [Nn]ame already exists"
    r"|NodeError: .* already has a child node named"
)
# HDF5 1.8 under h5py before 2.7 names only where it failed.
NOT_MADE = Pattern(r"[Uu]nable to create group \(Symbol table: [Uu]nable to (?:init|insert)")
SAYS = "{who} created a name that the HDF5 file has already: {line}"

cause = Cause(
    family="hdf5-name-exists",
    words=(Words(TAKEN, says=SAYS), Words(NOT_MADE, Weight.SIGN, says=SAYS)),
    do=(
        "let one task write the file, each its own name",
        "open a new file with mode w, and use require_group or require_dataset",
    ),
    remedy=AskHuman(),
    yields_to=frozenset({"hdf5-two-writers"}),
)

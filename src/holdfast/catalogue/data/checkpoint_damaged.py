"""A checkpoint is there, and its content is damaged or incomplete.

## What you see
`Checksum does not match: stored ... vs. calculated on the restored bytes`, `Read less bytes than
requested` while restoring, in PyTorch `PytorchStreamReader failed reading zip archive`.

## Why it happens
The task was killed or the disk was full while it was saved, several tasks saved under one name,
or the copy is incomplete.

## How to confirm it by hand
`tf.train.load_checkpoint('CHECKPOINT').get_tensor(NAME)` for each of its names; `ls -l` for files
that are shorter than those of the step before.

## What to do
Restore the checkpoint before it, delete the damaged one, and let only one task save under a name.

## When this accusation would be wrong
When the storage gave wrong bytes once, and the file itself is whole: compare `sha256sum` twice.
"""

from holdfast.model.findings import Cause
from holdfast.model.pattern import Pattern
from holdfast.model.remedies import AskHuman
from holdfast.model.wording import Words

CHECKSUM = Pattern(
    r"TensorBundle at .*(?:[Cc]hecksum|[Rr]ead less)|Checksum does not match: stored"
    r"|block checksum mismatch|corrupted compressed block contents"
    r"|(?:DataLossError|DATA_LOSS).*Restore"
)
TORCH = Pattern(
    r"PytorchStreamReader failed (?:reading|locating)|unexpected EOF, expected \d+ more bytes"
    r"|storage has wrong (?:byte )?size: expected|Error while deserializing header: "
    r"|InvalidHeaderDeserialization|MetadataIncompleteBuffer|corrupted checkpoint"
    r"|[Cc]heckpoint is corrupt"
)
# What was loaded, as lines above it tell.
FILE = Pattern(
    r"\b(?i:load|restor|resum)\w*\b.*?[\s\"'(](?P<culprit>[^\s\"'(),;:]+"
    r"\.(?:pth?|ckpt|safetensors|bin|h5|keras|tar)(?:-\d+)?)(?:[\s\"'),;:.]|$)"
)
SAYS = "{who} restored a checkpoint that is damaged: {line}"

cause = Cause(
    family="corrupt-data",
    words=(
        Words(CHECKSUM, says=SAYS),
        Words(TORCH, says=SAYS),
    ),
    do=(
        "restore the checkpoint before it, and delete the damaged one",
        "let one task only save under a name, and look for free space: df -h FOLDER",
    ),
    remedy=AskHuman(),
    where=(FILE,),
)

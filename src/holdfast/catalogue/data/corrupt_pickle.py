"""A pickle is empty, cut off, or no pickle at all.

## What you see
`EOFError: Ran out of input`, `UnpicklingError: pickle data was truncated` or `invalid load key,
'v'`.

## Why it happens
The job that wrote it was killed, or opened it for writing and never wrote; a Git LFS pointer
(`invalid load key, 'v'`) or a web page (`'<'`) stands in its place.

## How to confirm it by hand
`ls -l PATH` and `head -c 100 PATH | xxd`: empty, text, or cut off.

## What to do
Make the file again, and write it to a temporary name first, renamed when it is whole. With Git
LFS, run `git lfs pull`.

## When this accusation would be wrong
When the loader tries formats one after another and goes on with the next.
"""

from holdfast.model.findings import Cause
from holdfast.model.pattern import Pattern
from holdfast.model.remedies import AskHuman
from holdfast.model.wording import Words

EMPTY = Pattern(r"EOFError: Ran out of input")
DAMAGED = Pattern(
    r"UnpicklingError: |pickle data was truncated|invalid load key, '|unpickling stack underflow"
    r"|Cannot load file containing pickled data when allow_pickle=False"
    r"|_pickle\.\w*Error: .*(?:truncated|underflow|unexpected)"
)
NOT_DAMAGED = Pattern(r"Weights only load failed|weights_only|Unsupported (?:class|global|operand)")
# What the program opens in the line that failed.
FILE = Pattern(r"[\"'](?P<culprit>[^\"']+(?:\.pkl|\.pickle|\.joblib|\.npy))[\"']")
SAYS = "{who} met a pickle that is empty or damaged: {line}"

cause = Cause(
    family="corrupt-data",
    words=(
        Words(EMPTY, says=SAYS),
        Words(DAMAGED, says=SAYS, unless=NOT_DAMAGED),
    ),
    do=(
        "look at the file that the traceback loads: ls -l PATH; head -c 100 PATH",
        "make it again; write to a temporary name and rename it when it is whole",
    ),
    remedy=AskHuman(),
    where=(FILE,),
)

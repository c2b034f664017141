"""A file that should hold JSON is empty, cut off, or something else.

## What you see
`expected value at line 1 column 1`, `EOF while parsing a string at line 1 column 4096`: from
tokenizers, safetensors and other libraries that are written in Rust, without the file's name.

## Why it happens
A download that ended early, or that saved an error page; a pointer of Git LFS in place of the file;
two tasks that wrote to one cache at the same time; a full disk.

## How to confirm it by hand
`head -c 300 FILE` and `python -m json.tool FILE` for each `.json` of the model's folder.

## What to do
Delete it and get it again, once and by one task: `git lfs pull`, or a new download.

## When this accusation would be wrong
When the file is whole, and a newer version of the library has written it: upgrade, then.
"""

from holdfast.model.findings import Cause
from holdfast.model.pattern import Pattern
from holdfast.model.remedies import AskHuman
from holdfast.model.wording import Words

PARSED = Pattern(
    r"(?:Error|Exception)\b.*(?:expected (?:value|ident)|trailing characters"
    r"|EOF while parsing a[n]? \w+|control character .* found while parsing a string)"
    r" at line \d+ column \d+"
)

cause = Cause(
    family="corrupt-data",
    words=(Words(PARSED, says="{who} read a file that is no whole JSON: {line}"),),
    do=(
        "look at the files that are loaded: head -c 300 FILE; python -m json.tool FILE",
        "delete what is no JSON, and get it again by one task only",
    ),
    remedy=AskHuman(),
)

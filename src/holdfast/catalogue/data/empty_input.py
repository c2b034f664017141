"""The input holds nothing at all: no file matched, or every element was filtered out.

## What you see
`No files matched pattern`, `string_input_producer requires a non-null input tensor`, `num_samples
should be a positive integer value, but got num_samples=0`, `Expect x to be a non-empty array or
dataset`.

## Why it happens
A wrong path or pattern, a disk that is not mounted on this host, more tasks than files when the
input is split by file, a filter that keeps nothing.

## How to confirm it by hand
`ls PATTERN` on the host of the task, as the user that runs it.

## What to do
Correct the path, mount the disk on every host, or split the input by element instead of by file
(`AutoShardPolicy.DATA`).

## When this accusation would be wrong
When an empty part is expected and the program goes on without it.
"""

from holdfast.model.findings import Cause
from holdfast.model.pattern import Pattern
from holdfast.model.remedies import AskHuman
from holdfast.model.wording import Words

NOTHING = Pattern(
    r"No files matched pattern|requires a non-null input tensor|got num_samples=0"
    r"|non-empty array or dataset"
    r"|Unexpected result of `(?:train|test|predict)_function` \(Empty Logs\)"
    r"|\b[Ff]ound 0 (?:files|images|samples) (?:in|belonging|in subfolders).*(?:Error|Exception)"
    r"|(?:Error|Exception): .*[Ff]ound 0 (?:files|images|samples)"
    r"|Did not find any input files|Error: Empty (?:training|validation) data"
    r"|(?:Error|Exception): .*[Nn]o (?:training|input) (?:files|data)\b.*found"
    r"|[Tt]he dataset (?:iterator )?is empty|Found array with 0 sample"
)
SAYS = "{who} found no input at all: {line}"

cause = Cause(
    family="data-input-exhausted",
    words=(Words(NOTHING, says=SAYS),),
    do=(
        "look on the host of the task: ls PATTERN",
        "correct the path, mount the disk on every host, or AutoShardPolicy.DATA",
    ),
    remedy=AskHuman(),
)

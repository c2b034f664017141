"""A checkpoint was written in parts on several hosts that do not share its folder.

## What you see
`.../model.ckpt-0_temp_0c51.../part-00001-of-00002.index; No such file or directory`, or an error
of `MergeV2Checkpoints`, at the first save.

## Why it happens
Each parameter server, or each worker, writes its own part into a temporary folder, and one task
joins them. It finds only those parts that lie on its own host.

## How to confirm it by hand
`ls FOLDER` on every host: each has another part. `df FOLDER` shows a local disk.

## What to do
Save to storage that all hosts share: NFS, HDFS, a bucket.

## When this accusation would be wrong
When the storage is shared, but slow to show what another host wrote: then a second try succeeds.
"""

from holdfast.model.findings import Cause
from holdfast.model.pattern import Pattern
from holdfast.model.remedies import AskHuman
from holdfast.model.wording import Words

PART = Pattern(
    r"_temp\w*/part-\d+-of-\d+\S* ?;? No such file"
    r"|MergeV2Checkpoints?\b.*(?:No such file|[Nn]ot found)"
    r"|(?:No such file|[Nn]ot ?[Ff]ound).*Op:MergeV2Checkpoints"
    r"|(?:NOT_FOUND|Not found|NotFoundError)(?: \([^)]*\))?: .*_temp\w*/part-\d+-of-\d+"
)
SAYS = "{who} misses parts of a checkpoint that lie on other hosts: {line}"

cause = Cause(
    family="checkpoint-mismatch",
    words=(Words(PART, says=SAYS),),
    do=(
        "look at the folder on every host: ls FOLDER; df FOLDER",
        "save to storage that all hosts share",
    ),
    remedy=AskHuman(),
)

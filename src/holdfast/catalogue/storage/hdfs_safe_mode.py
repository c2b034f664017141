"""The HDFS namenode is in safe mode: it lets nobody write.

## What you see
`SafeModeException: Cannot create file ... Name node is in safe mode.`

## Why it happens
The namenode has just started and still counts blocks, its own disk is full, or somebody switched
safe mode on.

## How to confirm it by hand
`hdfs dfsadmin -safemode get`, and `df -h` on the namenode.

## What to do
Wait until it leaves safe mode by itself: `hdfs dfsadmin -safemode wait`. With a full disk, free
space first.

## When this accusation would be wrong
When the job only reads, and the line comes from another program.
"""

from holdfast.model.findings import Cause
from holdfast.model.pattern import Pattern
from holdfast.model.remedies import AskHuman
from holdfast.model.wording import Words

SAFE = Pattern(r"[Nn]ame ?node is in safe mode|SafeModeException")
NAMENODE = Pattern(r"safe ?mode.*NamenodeHostName:(?P<culprit>[\w.-]+)")
SAYS = "the namenode is in safe mode, {who} cannot write: {line}"

cause = Cause(
    family="hdfs-access",
    words=(Words(NAMENODE, says=SAYS), Words(SAFE, says=SAYS)),
    do=(
        "hdfs dfsadmin -safemode get; hdfs dfsadmin -safemode wait",
        "look for a full disk on the namenode: df -h",
    ),
    remedy=AskHuman(),
)

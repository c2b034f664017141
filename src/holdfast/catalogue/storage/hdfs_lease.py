"""Two writers want the same HDFS file, or one has lost its right to write it.

## What you see
`LeaseExpiredException: No lease on ...`, `AlreadyBeingCreatedException: Failed to create file ...
because this file lease is currently owned by`, `RecoveryInProgressException`.

## Why it happens
Several tasks write under one name, a relaunched task writes while the lease of the dead one still
holds, somebody deleted the file under the writer, or the writer was frozen for longer than a
minute.

## How to confirm it by hand
`hdfs fsck PATH -files -openforwrite`: who holds the file open.

## What to do
Give every task its own file name, and every attempt its own folder. To end an old lease: `hdfs
debug recoverLease -path PATH -retries 3`.

## When this accusation would be wrong
When the lease is of another program that writes into the same folder.
"""

from holdfast.model.findings import Cause
from holdfast.model.pattern import Pattern
from holdfast.model.remedies import AskHuman
from holdfast.model.wording import Words

LEASE = Pattern(
    r"LeaseExpiredException|AlreadyBeingCreatedException|RecoveryInProgressException"
    r"|No lease on /|file lease is currently owned by"
    r"|leaseholder is trying to recreate"
)
FILE = Pattern(r"(?:No lease on|Failed to (?:CREATE|APPEND)_FILE) (?P<culprit>/\S+)")
SAYS = "{who}: another writer has this HDFS file: {line}"

cause = Cause(
    family="hdfs-access",
    words=(Words(FILE, says=SAYS, of_speaker=True), Words(LEASE, says=SAYS)),
    do=(
        "see who holds it open: hdfs fsck PATH -files -openforwrite",
        "end an old lease: hdfs debug recoverLease -path PATH; give every task its own file",
    ),
    remedy=AskHuman(),
)

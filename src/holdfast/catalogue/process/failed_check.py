"""A program ended itself because something that must hold did not: a failed CHECK.

## What you see
A line of level F with a file and a line of C++, such as `F tensorflow/core/...] Check failed: ...`,
then `Aborted (core dumped)`. In Python there is no traceback.

## Why it happens
A bug in TensorFlow or a library, a state it was not made for, such as a task that is in the
cluster twice, or sizes that overflow.

## How to confirm it by hand
Search for the file and the text of the CHECK in the issues of that project, with your version.

## What to do
Update or go back to a version without it, or avoid what leads there. `PYTHONFAULTHANDLER=1` shows
which line of your program it was.

## When this accusation would be wrong
A CHECK that failed over memory, a missing peer or a limit has that as its cause: the text says so,
and then it is told there.
"""

from holdfast.model.findings import Cause
from holdfast.model.pattern import Pattern
from holdfast.model.remedies import AskHuman
from holdfast.model.wording import Words

# What is told elsewhere, more exactly.
OF_OTHERS = Pattern(
    r"(?i)clean shutdown is not currently implemented"
    r"|out of memory|OOM when|pthread_create|instructions, but these aren't|no space left"
    r"|too many open files|coordination|distributed service|terminating process because"
    r"|Address already in use|does not match DSO|ILLEGAL_ADDRESS|CUDA_ERROR|unavailable:"
    r"|deadline[ _]exceeded|heartbeat|rendezvous|NCCL|bad_alloc|CUDNN_STATUS|2147483647"
    r"|Unexpected Event status|FileStream\.Write"
)

cause = Cause(
    family="segfault-illegal-instruction",
    remedy=AskHuman(),
    yields_to=frozenset(
        {
            "allocation-failed",
            "cuda-mismatch",
            "cudnn-mismatch",
            "disk-full",
            "gpu-busy",
            "gpu-fell-off-bus",
            "gpu-illegal-access",
            "gpu-memory-fault",
            "gpu-out-of-memory",
            "illegal-instruction",
            "protobuf-mismatch",
            "thread-limit",
            "too-many-open-files",
        }
    ),
    words=(
        Words(
            Pattern(
                r"(?:^|[ :>])F (?:tensorflow|external|third_party)/\S+:\d+\] "
                r"|(?:^|[ :>])F\d{4} [\d:.]+ +\d+ [\w./-]+:\d+\] "
            ),
            unless=OF_OTHERS,
        ),
        Words(Pattern(r"Check failed: "), unless=OF_OTHERS),
        Words(
            Pattern(r"Assertion [`'].*' failed\.|(?:^|[ :])Assertion failed: \("), unless=OF_OTHERS
        ),
    ),
    do=(
        "search for the text of the check, with your version, in the issues of that project",
        "see which line of the program it was: run again with PYTHONFAULTHANDLER=1",
    ),
)

"""A program asked for more memory than the host, or its limit, could give.

## What you see
Python's `MemoryError`, numpy's `Unable to allocate 7.45 GiB for an array`, C++'s `std::bad_alloc`,
`[Errno 12] Cannot allocate memory`, or TensorFlow's `OOM when allocating tensor ... device:CPU:0`.
Unlike a kill by the kernel, the program itself says so.

## Why it happens
One object is larger than what is free; a limit on address space (`ulimit -v`) or strict
overcommit refuses; or memory leaked until nothing was left.

## How to confirm it by hand
`free -g; ulimit -v; cat /proc/sys/vm/overcommit_memory`, and the size that the message names.

## What to do
Load less at once: smaller batches, shuffle buffers and caches, `tf.data` instead of arrays,
memory-mapped files. Or raise the limit.

## When this accusation would be wrong
A size that makes no sense, such as terabytes, is a wrong shape or a damaged file. Memory that may
not be locked (`ibv_reg_mr`) is a limit of its own and not meant here.
"""

from holdfast.model.findings import Cause
from holdfast.model.pattern import Pattern
from holdfast.model.remedies import AskHuman
from holdfast.model.wording import Weight, Words

LOCKED_OR_SHARED = Pattern(r"ibv_|mlock|memlock|shared memory|/dev/shm|RLIMIT_|rdma")

cause = Cause(
    family="oom-host",
    remedy=AskHuman(),
    words=(
        Words(Pattern(r"\bENOMEM\b|heap out of memory|Reached heap limit"), Weight.SIGN),
        Words(Pattern(r"std::bad_alloc|bad allocation")),
        Words(Pattern(r"(?:^|[:>|\]] ?)(?:[\w.]+\.)?_?(?:Array)?MemoryError(?:: |\s*$)")),
        Words(Pattern(r"Unable to allocate [\d.]+ [KMGTPE]?i?B for an array with shape")),
        Words(Pattern(r"DefaultCPUAllocator: (?:not enough memory|can't allocate memory)")),
        Words(
            Pattern(
                r"(?:\[Errno 12\]|fork:?|mmap\w*|malloc\w*|error=12)\W.*Cannot allocate memory"
            ),
            unless=LOCKED_OR_SHARED,
        ),
        Words(Pattern(r"Cannot allocate memory"), Weight.SIGN, unless=LOCKED_OR_SHARED),
        Words(
            Pattern(
                r"OOM when allocating tensor with shape ?\[.*\] and type \w+ on"
                r" /job:localhost/\S*(?P<culprit>CPU:\d+)"
            )
        ),
        Words(
            Pattern(
                r"OOM when allocating tensor with shape ?\[.*\] and type \w+ on"
                r" (?P<culprit>/job:\w+/(?:replica:\d+/)?task:\d+)/device:(?:XLA_)?CPU:"
            ),
            unless=Pattern(r"/job:localhost/"),
        ),
        Words(Pattern(r"Failed to allocate memory for the batch of component")),
        Words(
            Pattern(
                r"java\.lang\.OutOfMemoryError: (?:Java heap|GC overhead|Direct buffer|Metaspace)"
                r"|insufficient memory for the Java Runtime Environment"
            )
        ),
        Words(Pattern(r"failed to alloc \d+ bytes on host: CUDA_ERROR_OUT_OF_MEMORY"), Weight.SIGN),
        Words(Pattern(r"(?:malloc|realloc) of size \d+ failed")),
    ),
    do=(
        "see what is free and what is allowed: free -g; ulimit -v",
        "load less at once: smaller batches, shuffle buffers and caches, memory-mapped files",
    ),
)

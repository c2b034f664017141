"""A program on the GPU read or wrote where it must not, and lost its context.

## What you see
`an illegal memory access was encountered`, `CUDA_ERROR_ILLEGAL_ADDRESS`,
`unspecified launch failure` or `misaligned address`. CUDA reports it late, at some later call, so
the line that fails is seldom the line that is wrong. Peers hang in their next collective.

## Why it happens
A custom kernel or a library with a bug; an index beyond a tensor; a library built for another
GPU; sometimes broken hardware.

## How to confirm it by hand
Run once with `CUDA_LAUNCH_BLOCKING=1`: then the traceback shows the real place.
`compute-sanitizer python train.py` names the access. `dmesg -T | grep Xid` shows 13, 31 or 43.

## What to do
Correct the index or the kernel, or update the library. If only one host fails so, suspect its GPU.

## When this accusation would be wrong
When the GPU itself is broken: then the same program fails on this host only.
"""

from holdfast.model.findings import Cause
from holdfast.model.pattern import Pattern
from holdfast.model.remedies import AskHuman
from holdfast.model.wording import Words

cause = Cause(
    family="gpu-fault",
    remedy=AskHuman(),
    words=(
        Words(
            Pattern(
                r"an illegal memory access was encountered|CUDA_ERROR_ILLEGAL_ADDRESS"
                r"|cudaErrorIllegalAddress|unspecified launch failure|CUDA_ERROR_LAUNCH_FAILED"
                r"|CUDA_ERROR_MISALIGNED_ADDRESS|CUDA error: misaligned address"
                r"|CUDA error: an illegal instruction was encountered"
                r"|CUDA_ERROR_ILLEGAL_INSTRUCTION|the launch timed out and was terminated"
                r"|CUDA_ERROR_LAUNCH_TIMEOUT|HIP error: (?:an illegal|unspecified launch)"
                r"|Memory access fault by GPU node"
            )
        ),
        Words(Pattern(r"Xid \((?P<culprit>(?:PCI:)?[0-9a-fA-F:.]+)\): (?:13|31|43|45|69|109)\b")),
    ),
    do=(
        "find the real place: run once more with CUDA_LAUNCH_BLOCKING=1",
        "name the access: compute-sanitizer python train.py",
        "if only one host fails so, look at its GPU: dmesg -T | grep Xid",
    ),
)

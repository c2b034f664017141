"""A GPU found an error in its own memory that it could not correct.

## What you see
`uncorrectable ECC error encountered`, `CUDA_ERROR_ECC_UNCORRECTABLE`, or in the kernel's log Xid
48, 64, 94 or 95. Every program on that GPU is ended.

## Why it happens
A memory cell of the GPU is broken. The GPU maps it out, which takes effect after a reset.

## How to confirm it by hand
`nvidia-smi -q -d ECC,PAGE_RETIREMENT,ROW_REMAPPER`; `dmesg -T | grep Xid`.

## What to do
Reset the GPU (`nvidia-smi -r -i INDEX`) or restart the host; if errors come back, have the card
replaced. Start again from the last checkpoint.

## When this accusation would be wrong
Corrected errors, and rows that were remapped in time (Xid 63, 92), harm nobody and are not meant.
"""

from holdfast.model.findings import Cause
from holdfast.model.pattern import Pattern
from holdfast.model.remedies import AskHuman
from holdfast.model.wording import Words

cause = Cause(
    family="gpu-fault",
    remedy=AskHuman(),
    words=(
        Words(Pattern(r"Xid \((?P<culprit>(?:PCI:)?[0-9a-fA-F:.]+)\): (?:48|64|94|95|140)\b")),
        Words(
            Pattern(
                r"uncorrectable ECC errors? (?:encountered|detected|occurred)"
                r"|CUDA_ERROR_ECC_UNCORRECTABLE"
                r"|cudaErrorECCUncorrectable|[Uu]ncorrectable NVLink error"
                r"|CUDA_ERROR_NVLINK_UNCORRECTABLE|cudaErrorNvlinkUncorrectable"
            )
        ),
    ),
    do=(
        "on that host: nvidia-smi -q -d ECC,PAGE_RETIREMENT,ROW_REMAPPER; dmesg -T | grep Xid",
        "reset the GPU: sudo nvidia-smi -r -i INDEX, and have it replaced if this comes back",
        "start again from the last checkpoint",
    ),
)

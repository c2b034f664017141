"""A GPU refuses a new program: somebody else has it for himself alone.

## What you see
`all CUDA-capable devices are busy or unavailable` or `CUDA_ERROR_DEVICE_UNAVAILABLE` as soon as
the program touches the GPU, although nothing is out of memory.

## Why it happens
The GPU is in exclusive mode and another process, often one left over from an earlier run, holds
it; or two tasks of one host were given the same GPU.

## How to confirm it by hand
`nvidia-smi -q -d COMPUTE` shows `Exclusive_Process`; `nvidia-smi` or `fuser -v /dev/nvidia*` shows
who holds it.

## What to do
End the process that was left over, give each task its own `CUDA_VISIBLE_DEVICES`, or set the
mode back with `nvidia-smi -c DEFAULT`.

## When this accusation would be wrong
A GPU that is about to fall off the bus refuses with the same words: look at `dmesg` for an Xid.
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
                r"CUDA-capable device\(?s?\)? (?:is/are|are|is) busy or unavailable"
                r"|CUDA_ERROR_DEVICE_UNAVAILABLE|cudaErrorDevicesUnavailable"
                r"|CUDA_ERROR_DEVICE_NOT_LICENSED"
            )
        ),
    ),
    do=(
        "see who holds the GPU: fuser -v /dev/nvidia*",
        "see its mode: nvidia-smi -q -d COMPUTE; set it back: sudo nvidia-smi -c DEFAULT",
        "give each task a GPU of its own: CUDA_VISIBLE_DEVICES",
    ),
)

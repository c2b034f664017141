"""A TPU has less memory than the compiled program needs.

## What you see
`Ran out of memory in memory space hbm`, with a table of the largest allocations, when the program
is compiled; or `Attempting to allocate 2.00G. That was not possible.` while it runs.

## Why it happens
Parameters, the optimizer's state and activations of one core together exceed its memory; shapes
are padded to multiples of 8 and 128, which may double them.

## How to confirm it by hand
The table below the error names the largest tensors and how much of them is padding.

## What to do
A smaller batch per core, rematerialization (`jax.checkpoint`, `tf.recompute_grad`), bfloat16, or
parameters that are sharded over more cores.

## When this accusation would be wrong
When an earlier run still holds the TPU: then less is free than this program alone would find.
"""

from holdfast.model.findings import Cause
from holdfast.model.pattern import Pattern
from holdfast.model.remedies import AskHuman
from holdfast.model.wording import Words

cause = Cause(
    family="oom-accelerator",
    remedy=AskHuman(),
    words=(
        Words(Pattern(r"Ran out of memory in memory space (?:hbm|vmem|smem|sflag)")),
        Words(Pattern(r"unlikely to have enough device memory|Exceeded hbm capacity by")),
        Words(
            Pattern(r"Attempting to (?:allocate|reserve) [\d.]+ ?\w*[. ].*That was not possible")
        ),
    ),
    do=(
        "make the batch of each core smaller, or keep less: jax.checkpoint, tf.recompute_grad",
        "see whether an earlier run still holds the TPU: sudo lsof -w /dev/accel*",
    ),
)

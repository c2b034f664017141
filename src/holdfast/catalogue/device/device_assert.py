"""A program on the GPU stopped itself: an index or a label is out of range.

## What you see
`device-side assert triggered`, and above it lines such as
``Assertion `t >= 0 && t < n_classes` failed``, once for each thread. After that every call to CUDA
fails in this process.

## Why it happens
A label beyond the number of classes, a token beyond the vocabulary, a position beyond the length
that the model was made for, or NaN where a probability is wanted.

## How to confirm it by hand
Run the same batch on the CPU, or with `CUDA_LAUNCH_BLOCKING=1`: the traceback then shows the line.

## What to do
Correct the labels or indices, or the size of the layer that takes them.

## When this accusation would be wrong
When memory was damaged by another kernel before: then the assertion is only where it showed.
"""

from holdfast.model.findings import Cause
from holdfast.model.pattern import Pattern
from holdfast.model.remedies import AskHuman
from holdfast.model.wording import Weight, Words

cause = Cause(
    family="python-exception-user-code",
    remedy=AskHuman(),
    words=(
        Words(Pattern(r"device-side assert triggered|cudaErrorAssert|CUDA_ERROR_ASSERT\b")),
        Words(Pattern(r"block: \[\d+,\d+,\d+\], thread: \[\d+,\d+,\d+\] Assertion"), Weight.SIGN),
    ),
    do=(
        "find the line: run the same batch on the CPU, or with CUDA_LAUNCH_BLOCKING=1",
        "compare the largest label or index with the size of the layer that takes it",
    ),
)

"""A GPU has less free memory than the program asked for.

## What you see
`OOM when allocating tensor with shape[...]`, `CUDA out of memory. Tried to allocate ...`,
`RESOURCE_EXHAUSTED: Out of memory`, or NCCL's `Failed to CUDA calloc`. Peers then report a closed
socket or a collective that fails.

## Why it happens
The batch, the model or its activations are too large; another process holds memory of the same
GPU; memory is free but in pieces; or several tasks of one host all took the first GPU.

## How to confirm it by hand
`nvidia-smi` on that host, while it runs: who holds how much. One more run with half the batch.

## What to do
Smaller batches, mixed precision, gradient checkpointing; one GPU for each task with
`CUDA_VISIBLE_DEVICES`; let TensorFlow take only what it needs with
`TF_FORCE_GPU_ALLOW_GROWTH=true`.

## When this accusation would be wrong
TensorFlow asks for much, then for less, and says so each time; `The caller indicates that this is
not a failure` is only slower. Such lines accuse nobody. A handle of cuDNN or cuBLAS that cannot be
made is most often memory, but may be a library that does not fit.
"""

from holdfast.model.findings import Cause
from holdfast.model.pattern import Pattern
from holdfast.model.remedies import AskHuman
from holdfast.model.wording import Weight, Words

# TensorFlow tries again with less, and only then it fails: these are said on the way.
ON_THE_WAY = Pattern(r"not a failure|: I |\bI tensorflow/|^I\d{4} |bytes on host")
OF_ONE_PROCESS = Pattern(r"/job:localhost/")
ELSEWHERE = Pattern(r"device:|by allocator ")
ON_THE_HOST = Pattern(r"CPU:\d|XLA:CPU|HBM|memory space")

TOLD_MORE_EXACTLY = Pattern(
    r"out of memory\. Tried to allocate [\d.]+ [KMGT]i?B(?:\. | \()|NCCL WARN|error on GPU \d"
    r"|in replica \d|(?i:warning)|CUDA_ERROR_|cuMem|cuCtx|srun: |slurmstepd|\bI tensorflow/|: I "
)

cause = Cause(
    family="oom-accelerator",
    remedy=AskHuman(),
    words=(
        Words(
            Pattern(
                r"(?:CUDA|HIP|XPU|MUSA) out of memory\. Tried to allocate [\d.]+ [KMGT]i?B"
                r"(?:\. | \()(?P<culprit>GPU \d+)?"
            ),
            unless=Pattern(r"Error in replica \d"),
        ),
        Words(
            Pattern(r"Caught (?:\w+\.)*OutOfMemoryError in (?P<culprit>replica \d+ on device \d+)")
        ),
        Words(
            Pattern(
                r"(?i:(?:cuda|hip|gpu|mps)[ \w:()'.]{0,60}out of (?:gpu |device )?memory)"
                r"|(?i:(?:out of|insufficient|not enough) (?:gpu|device|cuda) memory)"
                r"|(?i:out of memory (?:on|in|at) (?:the )?(?:gpu|device|cuda))"
                r"|(?i:failed to (?:allocate|reserve)[^\n]{0,40}(?:gpu|device|cuda) memory)"
                r"|cudaErrorMemoryAllocation|cudaMalloc\w* (?:retry )?failed: out of memory"
                r"|OutOfMemoryError: Allocation on device"
                r"|No available memory for the cache blocks|that can be stored in KV cache"
                r"|on startup is less than desired GPU memory utilization"
            ),
            unless=TOLD_MORE_EXACTLY,
        ),
        Words(
            Pattern(
                r"OOM when allocating tensor with shape ?\[.*\] and type \w+ on"
                r" /job:localhost/replica:0/task:0/device:(?:XLA_)?(?P<culprit>GPU:\d+)"
            )
        ),
        Words(
            Pattern(
                r"OOM when allocating tensor with shape ?\[.*\] and type \w+ on"
                r" (?P<culprit>/job:\w+/(?:replica:\d+/)?task:\d+)/device:(?:XLA_)?GPU:"
            ),
            unless=OF_ONE_PROCESS,
        ),
        Words(
            Pattern(r"OOM when allocating (?:\w+ )?(?:tensor )?(?:with |of )?shape"),
            unless=ELSEWHERE,
        ),
        Words(
            Pattern(r"Allocator \((?P<culprit>GPU_\d+)_bfc\) ran out of memory trying to allocate"),
            Weight.SIGN,
            unless=ON_THE_WAY,
        ),
        Words(
            Pattern(r"bfc_allocator\.cc:\d+\] Ran out of memory trying to allocate"),
            Weight.SIGN,
            unless=ON_THE_WAY,
        ),
        Words(
            Pattern(r"failed to allocate [\d.]+\S* .*from device: CUDA_ERROR_OUT_OF_MEMORY"),
            Weight.SIGN,
            unless=ON_THE_WAY,
        ),
        Words(
            Pattern(
                r"(?:PrimaryCtxRetain|cuCtxCreate|cuMemAlloc|cuMemCreate|cuModuleLoad)\w*\W.*"
                r"(?:CUDA_ERROR_OUT_OF_MEMORY|: out of memory)"
            ),
            unless=ON_THE_WAY,
        ),
        Words(Pattern(r"CUDA_ERROR_OUT_OF_MEMORY"), Weight.SIGN, unless=ON_THE_WAY),
        Words(
            Pattern(r"ResourceExhaustedError: .*(?i:failed to allocate memory)"),
            unless=Pattern(r"for the batch of component"),
        ),
        Words(
            Pattern(r"\bfailed to allocate memory\b"),
            Weight.SIGN,
            unless=Pattern(r"ResourceExhaustedError: |for the batch of component"),
        ),
        Words(
            Pattern(r"torch\.(?:cuda\.)?OutOfMemoryError"), Weight.SIGN, unless=TOLD_MORE_EXACTLY
        ),
        Words(
            Pattern(
                r"Sum Total of in-use chunks: |Ran out of GPU memory|enough GPU RAM to fit"
                r"|bfc_allocator\.cc:\d+\] (?:\*{5}|\d+ Chunks of|Chunk at|InUse at|Summary of)"
                r"|cuDNN error: CUDNN_STATUS_NOT_INIT|CUDA error: CUBLAS_STATUS_NOT_INIT"
            ),
            Weight.SIGN,
        ),
        Words(
            Pattern(
                r"Dst tensor is not initialized|This is probably because cuDNN failed to initialize"
            ),
            Weight.SIGN,
        ),
        Words(Pattern(r"CU(?:BLAS|DNN|SOLVER|SPARSE)_STATUS_ALLOC_FAILED")),
        Words(
            Pattern(
                r"(?i:could not create cudnn handle): CUDNN_STATUS_(?:INTERNAL_ERROR|NOT_INIT)"
                r"|(?i:failed to create cublas handle): (?:CUBLAS_STATUS_NOT_INIT|the resource)"
            ),
            Weight.SIGN,
        ),
        Words(
            Pattern(
                r"(?:RESOURCE_EXHAUSTED|Resource exhausted|ResourceExhaustedError): "
                r"(?:Out of memory"
                r"|Failed to allocate request for)"
            ),
            unless=ON_THE_HOST,
        ),
        Words(
            Pattern(
                r"(?:(?P<culprit>[\w.-]+):\d+:\d+ \[\d+\] .*)?NCCL WARN"
                r" (?:Cuda failure (?:\d+ )?'out of memory'|Failed to CUDA \w+)"
            )
        ),
        Words(
            Pattern(r"Failed to CUDA (?:calloc|malloc|host alloc)"), unless=Pattern(r"NCCL WARN")
        ),
        Words(Pattern(r"Out of memory error on (?P<culprit>GPU \d+)")),
    ),
    do=(
        "see who holds the memory: nvidia-smi --query-compute-apps=pid,used_memory --format=csv",
        "make the batch smaller, or let TensorFlow grow: export TF_FORCE_GPU_ALLOW_GROWTH=true",
        "with PyTorch against fragments: export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True",
    ),
)

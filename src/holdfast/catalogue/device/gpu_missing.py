"""A program needs a GPU, and this host shows it none.

## What you see
`No CUDA GPUs are available`, `Found no NVIDIA driver on your system`, or `NVIDIA-SMI has failed
because it couldn't communicate with the NVIDIA driver`, and the program ends.

## Why it happens
The job asked for no GPU, the container was started without them, `CUDA_VISIBLE_DEVICES` is empty or
names one that is not there, or the driver is not loaded.

## How to confirm it by hand
In the task's own environment: `nvidia-smi -L; echo "$CUDA_VISIBLE_DEVICES"; ls /dev/nvidia*`.

## What to do
Ask for a GPU (`--gres=gpu:1`, `nvidia.com/gpu: 1`, `docker run --gpus all`), correct
`CUDA_VISIBLE_DEVICES`, or load the driver.

## When this accusation would be wrong
TensorFlow's own `failed call to cuInit: CUDA_ERROR_NO_DEVICE` is said on every host without a GPU
and harms nobody: it is not meant here.
"""

from holdfast.model.findings import Cause
from holdfast.model.pattern import Pattern
from holdfast.model.remedies import AskHuman
from holdfast.model.wording import Weight, Words

WARNS = Pattern(r"cuInit|UserWarning|(?i:warning)|is_available\(\) (?:returns|returned)")

cause = Cause(
    family="gpu-fault",
    remedy=AskHuman(),
    words=(
        Words(
            Pattern(
                r"RuntimeError: .*(?:No CUDA GPUs are available"
                r"|Found no NVIDIA driver on your system"
                r"|Attempting to deserialize object on a CUDA device but)"
                r"|CUDA error: (?:no CUDA-capable device is detected|invalid device ordinal)"
                r"|CUDA_ERROR_INVALID_DEVICE: invalid device ordinal"
                r"|(?:Cuda|CUDA) failure (?:\d+ )?'?(?:no CUDA-capable|invalid device ordinal)"
            ),
            unless=WARNS,
        ),
        Words(
            Pattern(
                r"cuda runtime error \((?:38|35|10)\) ?: (?:no CUDA-capable|invalid device)"
                r"|requested GPU\w*: \S+ But your machine only has"
                r"|MisconfigurationException: No supported gpu backend found"
            )
        ),
        Words(
            Pattern(
                r"NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver"
                r"|^(?:nvidia-smi: )?No devices were found$"
            ),
            Weight.SIGN,
        ),
    ),
    do=(
        'in the task\'s environment: nvidia-smi -L; echo "$CUDA_VISIBLE_DEVICES"; ls /dev/nvidia*',
        "ask for a GPU: sbatch --gres=gpu:1, docker run --gpus all, or nvidia.com/gpu: 1",
    ),
)

"""The driver of the GPUs, CUDA and what was built on them do not fit together.

## What you see
`CUDA driver version is insufficient for CUDA runtime version`, `The NVIDIA driver on your system is
too old`, `kernel version ... does not match DSO version`, `Driver/library version mismatch`, or
`no kernel image is available for execution on the device`.

## Why it happens
The driver was updated without a restart, so that its two halves differ; the program needs a newer
driver than the host has; or it was built for other GPUs than this one.

## How to confirm it by hand
`nvidia-smi` and `cat /proc/driver/nvidia/version`: two versions that must be equal, and the newest
CUDA that the driver knows. `nvidia-smi --query-gpu=compute_cap --format=csv` for the GPU itself.

## What to do
Restart the host, or load the module of the driver again, after an update; install a newer driver;
or install the build for the CUDA of this driver and for this GPU.

## When this accusation would be wrong
When the program goes on without the GPU and that is what is wanted.
"""

from holdfast.model.findings import Cause
from holdfast.model.pattern import Pattern
from holdfast.model.remedies import AskHuman
from holdfast.model.wording import Weight, Words

cause = Cause(
    family="version-mismatch",
    remedy=AskHuman(),
    where=(
        Pattern(r"diagnostic information for host: (?P<culprit>[\w.-]+)"),
        Pattern(r"cuda_diagnostics\.cc:\d+\] hostname: (?P<culprit>[\w.-]+)"),
    ),
    words=(
        Words(Pattern(r"kernel version [\d.]+ does not match DSO version [\d.]+")),
        Words(Pattern(r"Driver/library version mismatch|NVRM: API mismatch: ")),
        Words(Pattern(r"CUDA driver version is insufficient for CUDA runtime version")),
        Words(Pattern(r"The NVIDIA driver on your system is too old")),
        Words(
            Pattern(
                r"CUDA_ERROR_SYSTEM_DRIVER_MISMATCH|unsupported display driver / cuda driver"
                r"|forward compatibility was attempted on non supported HW"
                r"|CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE|CUDA_ERROR_UNSUPPORTED_PTX_VERSION"
                r"|provided PTX was compiled with an unsupported toolchain"
            )
        ),
        Words(
            Pattern(
                r"no kernel image is available for execution on the device"
                r"|CUDA_ERROR_NO_BINARY_FOR_GPU|device kernel image is invalid"
                r"|CUDA_ERROR_INVALID_IMAGE|CUDA_ERROR_INVALID_PTX"
            )
        ),
        Words(Pattern(r"is not compatible with the current PyTorch installation"), Weight.SIGN),
        Words(Pattern(r"detected CUDA version \([\d.]+\) mismatches the version")),
        Words(Pattern(r"Torch not compiled with CUDA enabled")),
        Words(
            Pattern(r"ptxas [\d.]+ .*too old|Couldn't (?:invoke|get) ptxas.*version"), Weight.SIGN
        ),
    ),
    do=(
        "compare the versions: nvidia-smi; cat /proc/driver/nvidia/version",
        "after an update of the driver restart the host; else install a driver that is new enough",
        "or install the build for the CUDA of this driver",
    ),
)

"""A GPU or its driver failed, and says no more than that.

## What you see
In the kernel's log an Xid other than those with a page of their own; `CUDA error: unknown error`,
`CUDNN_STATUS_EXECUTION_FAILED`, `GPU sync failed`, `system not yet initialized`, or NCCL's
`ncclUnhandledCudaError`. Peers then hang in a collective or lose a connection.

## Why it happens
Heat, power, a broken link between GPUs, firmware that hangs, a service that is not running
(`nvidia-fabricmanager`), a host that slept; sometimes a library that does not fit.

## How to confirm it by hand
`dmesg -T | grep -e Xid -e NVRM`; `nvidia-smi -q`; `systemctl status nvidia-fabricmanager`. What a
number means is in NVIDIA's list of Xid errors.

## What to do
Reset the GPU (`nvidia-smi -r -i INDEX`) or restart the host, and start again from the last
checkpoint on another one. If it is always the same host, have it looked at.

## When this accusation would be wrong
CUDA reports late what an earlier kernel did: a bug of the program may look the same. If other hosts
fail in the same step, look at the program.
"""

from holdfast.model.findings import Cause
from holdfast.model.pattern import Pattern
from holdfast.model.remedies import AskHuman
from holdfast.model.wording import Weight, Words

# These have pages of their own.
TOLD_ELSEWHERE = Pattern(r"\): (?:13|31|43|45|48|64|69|79|94|95|109|140)\b")
# Memory, versions and absent GPUs are told elsewhere; lines of level I are only said on the way.
MEANT_OTHERWISE = Pattern(
    r"OUT_OF_MEMORY|NO_DEVICE|DEINITIALIZED|NOT_FOUND|PEER_ACCESS|INVALID_DEVICE|INVALID_VALUE"
    r"|PTX|INVALID_IMAGE|NO_BINARY|COMPAT|MISMATCH|UNAVAILABLE|ILLEGAL|LAUNCH|MISALIGNED|ASSERT"
    r"|: I |\bI tensorflow/|^I\d{4} |(?i:warning)"
)
NO_HANDLE = Pattern(r"(?i:could not create|failed to create|warning)|illegal memory|launch failure")

cause = Cause(
    family="gpu-fault",
    remedy=AskHuman(),
    words=(
        Words(
            Pattern(
                r"unhandled cuda error|ncclUnhandledCudaError|CUDA driver initialization failed"
                r"|Unable to determine the device handle for GPU|nvml error: driver not loaded"
                r"|could not select device driver .*capabilities: .*gpu"
            ),
            Weight.SIGN,
        ),
        Words(
            Pattern(
                r"HW Exception by GPU|GPU Hang\b|failed to query NVIDIA devices|GPU (?:reset"
                r"|recovery)"
                r" (?:is )?required|HIP error: (?:unspecified|invalid device|the operation)"
                r"|amdgpu: [^\n]*(?:GPU reset|ring \S+ timeout|RAS)"
            ),
            Weight.SIGN,
        ),
        Words(
            Pattern(r"Xid \((?P<culprit>(?:PCI:)?[0-9a-fA-F:.]+)\): \d+"),
            Weight.SIGN,
            unless=TOLD_ELSEWHERE,
        ),
        Words(Pattern(r"\bCUDA_ERROR_[A-Z_]{4}"), Weight.SIGN, unless=MEANT_OTHERWISE),
        Words(Pattern(r"XidCriticalError: Xid=\d+ on (?:Device=)?(?P<culprit>[\w-]+)")),
        Words(
            Pattern(
                r"amdgpu (?P<culprit>[0-9a-f:.]+): amdgpu: (?:GPU reset|ring \S+ timeout|GPU fault)"
            )
        ),
        Words(Pattern(r"NVRM: (?:RmInitAdapter failed|GPU \S+: RmInitAdapter failed)")),
        Words(
            Pattern(
                r"CUDA error: (?:hardware stack error|unknown error)|GPU sync failed"
                r"|CU(?:DNN|BLAS)_STATUS_(?:EXECUTION_FAILED|MAPPING_ERROR|INTERNAL_ERROR)"
                r"|[Cc]ould not synchronize on CUDA context|Unexpected Event status: "
                r"|Failed to initialize NVML: Unknown Error|(?i:double bit ecc error)"
                r"|cuda runtime error \((?:4|30|59|73|719)\)|CUDA unknown error"
                r"|ncclUnhandledCudaError"
                r"|Error polling for event status|[Ff]ailed to query event: "
                r"|Blas (?:GEMM|xGEMV|GEMV|SGEMM) launch failed|CUDA error: initialization error"
                r"|HSA_STATUS_ERROR|cudaError(?:LaunchFailure|Unknown|LaunchTimeout|HardwareStack)"
                r"|(?i:cuda[ _]error)[: (=]{1,3}(?:30|46|77|700|701|715|716|719|999)\b"
                r"|(?i:gpu[^\n]{0,24}(?:is hung|hang detected|not responding|requires? reset))"
                r"|\bX(?:id|ID)(?: [Ee]rrors?)?[ :=]{1,3}\d{2,3}\b|\| +ERR! "
            ),
            Weight.SIGN,
            unless=NO_HANDLE,
        ),
        Words(
            Pattern(
                r"CUDA_ERROR_HARDWARE_STACK_ERROR|system not yet initialized"
                r"|CUDA_ERROR_SYSTEM_NOT_READY|cudaErrorSystemNotReady"
                r"|failed call to cuInit: CUDA_ERROR_DEVICE_LOST"
            )
        ),
    ),
    do=(
        "on that host: dmesg -T | grep -e Xid -e NVRM; nvidia-smi -q",
        "reset the GPU or restart the host, then start again from the last checkpoint",
    ),
)

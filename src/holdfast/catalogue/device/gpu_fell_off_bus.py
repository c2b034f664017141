"""A GPU no longer answers: it has fallen off the bus.

## What you see
In the kernel's log `Xid 79, GPU has fallen off the bus`; from `nvidia-smi`
`Unable to determine the device handle` or `GPU is lost`. Tasks on it hang, or fail with CUDA errors
that name nothing useful.

## Why it happens
Power, heat, a loose or broken card, a broken riser or slot, sometimes firmware.

## How to confirm it by hand
`dmesg -T | grep -e Xid -e 'fallen off' -e AER`; `nvidia-smi -L` lists one GPU less than before.

## What to do
Take the host out of use and reset or restart it; if it comes back, have the card replaced. Start
again from the last checkpoint on other hosts.

## When this accusation would be wrong
When somebody reset the GPU, or unbound its driver, on purpose at that time.
"""

from holdfast.model.findings import Cause
from holdfast.model.pattern import Pattern
from holdfast.model.remedies import AskHuman
from holdfast.model.wording import Words

cause = Cause(
    family="gpu-fault",
    remedy=AskHuman(),
    hears=(Pattern(r"NVRM: The NVIDIA GPU "),),
    words=(
        Words(Pattern(r"Xid \((?P<culprit>(?:PCI:)?[0-9a-fA-F:.]+)\): 79\b")),
        # One message of several lines: which GPU stands in the first, what befell it in the third.
        Words(
            Pattern(
                r"NVRM: The NVIDIA GPU (?P<culprit>[0-9a-fA-F:.]+)"
                r"(?:\s[\s\S]{0,300})?fallen off the bus"
            )
        ),
        Words(
            Pattern(
                r"(?:GPU|PCI:|NVRM:)[ \w:.]*?\b"
                r"(?P<culprit>[0-9a-fA-F]{4}(?::[0-9a-fA-F]{2}){2}\.\d)[ \w:.]*fallen off the bus"
            ),
            unless=Pattern(r"Xid \(|The NVIDIA GPU"),
        ),
        Words(
            Pattern(r"(?:GPU|PCI:|NVRM:)[ \w:.]*(?:has )?fallen off the bus"),
            unless=Pattern(r"Xid \(|The NVIDIA GPU"),
        ),
        Words(
            Pattern(
                r"Unable to determine the device handle for"
                r" (?:GPU ?\d*:? ?)?(?P<culprit>[0-9a-fA-F]{4,8}:[0-9a-fA-F:.]+)"
            )
        ),
        Words(Pattern(r"GPU is lost\b|cudaErrorDeviceLost|NVML_ERROR_GPU_IS_LOST")),
    ),
    do=(
        "on that host: dmesg -T | grep -e Xid -e AER; nvidia-smi -L",
        "take the host out of use (Slurm: scontrol update NodeName=HOST State=DRAIN Reason=gpu)",
        "start again from the last checkpoint on other hosts",
    ),
)

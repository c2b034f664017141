"""The cuDNN or NCCL that was found is not the one that the program was built for.

## What you see
`Loaded runtime CuDNN library: 7.1.2 but source was compiled with: 7.6.0`, `cuDNN version
incompatibility`, `Mismatched NCCL version`; then the first convolution or collective fails.

## Why it happens
`LD_LIBRARY_PATH` leads to another installation than the one of the package, a system library is
older, or hosts have different versions.

## How to confirm it by hand
`python -c "import ctypes; print(ctypes.CDLL('libcudnn.so.9').cudnnGetVersion())"`;
`echo "$LD_LIBRARY_PATH"`; `NCCL_DEBUG=VERSION` on every host.

## What to do
Install the version that the message asks for, and take the other out of `LD_LIBRARY_PATH`; use one
image on all hosts.

## When this accusation would be wrong
A newer minor version than the one compiled against is fine, and nobody prints this then.
"""

from holdfast.model.findings import Cause
from holdfast.model.pattern import Pattern
from holdfast.model.remedies import AskHuman
from holdfast.model.wording import Words

cause = Cause(
    family="version-mismatch",
    remedy=AskHuman(),
    words=(
        Words(
            Pattern(
                r"Loaded (?:runtime )?(?i:cudnn) library: (?P<culprit>[\w.]+)[^\n]*"
                r"but source was compiled with"
            )
        ),
        Words(Pattern(r"cuDNN version incompatibility|CUDNN_STATUS_VERSION_MISMATCH")),
        Words(Pattern(r"CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH|CUDNN_STATUS_ARCH_MISMATCH")),
        Words(Pattern(r"Mismatched NCCL version")),
        Words(Pattern(r"NCCL (?:library )?version mismatch")),
    ),
    do=(
        'see which one is found: echo "$LD_LIBRARY_PATH"; ldconfig -p | grep -e cudnn -e nccl',
        "install the version that the message asks for, the same on all hosts",
    ),
)

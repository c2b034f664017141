"""Two libraries, or a library and its program, were built for different versions of each other.

## What you see
`undefined symbol: _ZN10tensorflow...`, `symbol lookup error`, `Python version mismatch: module was
compiled for Python 3.6`, `Headers are 1.10.5, library is 1.10.4`, `unsupported pickle protocol:
5`, or a package that says which version of another one it needs.

## Why it happens
A custom op or an extension (Horovod, apex) was built against another TensorFlow or PyTorch; a
package was updated alone; tasks use different interpreters.

## How to confirm it by hand
`python -m pip check`; `ldd LIBRARY | grep 'not found'`; `c++filt SYMBOL` shows what is missing.

## What to do
Build the extension again against what is installed (`pip install --no-cache-dir --force-reinstall
--no-binary :all: horovod`), or install the versions that belong together.

## When this accusation would be wrong
An `undefined symbol` may also come from a library that is found in the wrong place first: look at
`LD_LIBRARY_PATH`.
"""

from holdfast.model.findings import Cause
from holdfast.model.pattern import Pattern
from holdfast.model.remedies import AskHuman
from holdfast.model.wording import Weight, Words

cause = Cause(
    family="version-mismatch",
    remedy=AskHuman(),
    words=(
        Words(
            Pattern(
                r"UnsupportedClassVersionError"
                r"|compiled by a more recent version of the Java Runtime"
                r"|HDF5 (?:header|library) version mismatched|Version mismatch: this is the "
                r"|Could not find a version that satisfies the requirement"
                r"|requires [\w-]+ ?(?:[<>=!]=|[<>])[^\n]{1,60}but found"
                r"|(?:version|versions) (?:mismatch|conflict) (?:between|detected)"
                r"|incompatible with the installed version|was built for a different version"
            ),
            Weight.SIGN,
        ),
        Words(Pattern(r"(?P<culprit>[\w./+-]+\.so[\w.]*): undefined symbol: ")),
        Words(
            Pattern(r"symbol lookup error: (?P<culprit>[^\s:]+):"),
            unless=Pattern(r"undefined symbol"),
        ),
        Words(Pattern(r"Python version mismatch: module was compiled for")),
        Words(Pattern(r"[Pp]ython in worker has different version")),
        Words(Pattern(r"do not match the version used by the HDF5 library")),
        Words(Pattern(r"unsupported pickle protocol: \d")),
        Words(Pattern(r"bad magic number in '(?P<culprit>[\w.]+)'")),
        Words(
            Pattern(
                r"ImportError: (?P<culprit>\S+)[=<>!~]=?[\d.]+[^\n]* is required[^\n]*but found"
            )
        ),
        Words(Pattern(r"VersionConflict: |ContextualVersionConflict: ")),
        Words(
            Pattern(
                r"(?:extension|module|op|kernels?|[Hh]orovod) (?:has been |was |were )"
                r"(?:built|compiled) (?:with|against|for) (?:TensorFlow|PyTorch|a different)"
            )
        ),
        Words(Pattern(r"(?:incompatible|inconsistent) (?:ABI|with this version of TensorFlow)")),
        Words(
            Pattern(
                r"ImportError: cannot import name '?\w+'? from '?(?:tensorflow|keras|torch|jax)"
            ),
            Weight.SIGN,
        ),
        Words(
            Pattern(r"OpKernel \('op: [^\n]*has already been registered|Duplicate registration of")
        ),
    ),
    do=(
        "see what does not fit: python -m pip check",
        "build the extension again against what is installed, or install matching versions",
    ),
)

"""A module was compiled, or a program written, for another numpy than the installed one.

## What you see
`numpy.dtype size changed, may indicate binary incompatibility`, `module compiled against API
version 0x10 but this version of numpy is 0xe`, `A module that was compiled using NumPy 1.x cannot
be run in NumPy 2`, or `module 'numpy' has no attribute 'bool'`.

## Why it happens
numpy was updated, or held back, under packages that were built with another one.

## How to confirm it by hand
`python -c "import numpy; print(numpy.__version__, numpy.__file__)"`; `python -m pip check`.

## What to do
`pip install 'numpy<2'` for packages built with numpy 1; else install them again for the numpy
that is there.

## When this accusation would be wrong
Some of these are warnings of a module that the program can do without: then it goes on.
"""

from holdfast.model.findings import Cause
from holdfast.model.pattern import Pattern
from holdfast.model.remedies import AskHuman
from holdfast.model.wording import Weight, Words

WARNS = Pattern(r"RuntimeWarning|FutureWarning|DeprecationWarning")

cause = Cause(
    family="version-mismatch",
    remedy=AskHuman(),
    words=(
        Words(Pattern(r"ValueError: numpy\.\w+ size changed, may indicate binary incompatibility")),
        Words(Pattern(r"Error: (?:numpy\.core\.multiarray|numpy\._core\.\w+) failed to import")),
        Words(
            Pattern(
                r"module compiled against (?:API|ABI) version \w+ but this version of numpy is"
                r"|A module that was compiled using NumPy 1\.x cannot be run in"
                r"|_ARRAY_API not found"
            ),
            Weight.SIGN,
            unless=WARNS,
        ),
        Words(Pattern(r"`np\.\w+` was removed in the NumPy \d")),
        Words(
            Pattern(
                r"module 'numpy' has no attribute '(?:bool8?|int|float|object|complex|str|long"
                r"|typeDict|float_|unicode_|NaN|Inf|product|in1d|cumproduct|asscalar|typeNA|warnings)'"
            )
        ),
    ),
    do=(
        "see which numpy it is: python -c 'import numpy; print(numpy.__version__)'",
        "for packages built with numpy 1: python -m pip install 'numpy<2'",
    ),
)

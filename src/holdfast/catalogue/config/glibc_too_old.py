"""A program was built for a newer C or C++ library than this host has.

## What you see
`/lib64/libc.so.6: version 'GLIBC_2.28' not found (required by ...)`, or the same with `GLIBCXX` or
`CXXABI`, at the import.

## Why it happens
The host's system is older than the one the package was built on; or a module or conda environment
puts an older libstdc++ in front.

## How to confirm it by hand
`ldd --version | head -1`; `strings LIBRARY | grep -e GLIBC_ -e GLIBCXX_ | sort -V | tail -1`.

## What to do
Run in a container with a newer system, install a package built for this one (manylinux2014), or,
for libstdc++, `conda install libstdcxx-ng` and put its directory first in `LD_LIBRARY_PATH`.

## When this accusation would be wrong
Never, where the program ended with it: the loader itself compares the versions.
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
                r"(?P<culprit>[\w./+-]*\.so[\w.]*): version [`'](?:GLIBC|GLIBCXX|CXXABI|GCC|GOMP|"
                r"OPENSSL|NCURSES|CURL)\w*_[\w.]+' not found"
            )
        ),
    ),
    do=(
        "see what the host has: ldd --version | head -1",
        "run in a container with a newer system, or install a package built for this one",
    ),
)

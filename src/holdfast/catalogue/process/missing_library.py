"""A Python module or a shared library that a task needs is not there.

## What you see
`ModuleNotFoundError: No module named …`, `ImportError: lib….so: cannot open shared object
file`, or from the loader `error while loading shared libraries`. Exit code 1, or 127 from the
loader.

## Why it happens
The task runs in another environment than the one where it was installed, a package was
installed on some hosts only, or a system library is missing.

## How to confirm it by hand
`python -c 'import MODULE'` with the very interpreter of the task; `ldd FILE | grep 'not found'`
for a library.

## What to do
Install it in the task's environment, or start the task with the right interpreter.

## When this accusation would be wrong
`Could not load dynamic library 'libcudart…'` on a machine without GPUs is noise: nothing is
accused unless the task ended with the error.
"""

from collections.abc import Iterator

from holdfast.model.evidence import Evidence
from holdfast.model.findings import Cause, Proof
from holdfast.model.pattern import Pattern
from holdfast.model.remedies import AskHuman

LOADER = Pattern(r"error while loading shared libraries: ([^:]+):")
SHARED_OBJECT = Pattern(
    r"([\w.+-]+\.so[\w.]*): (?:cannot open shared object file|undefined symbol)"
)
MODULE = Pattern(r"No module named '?([\w.]+)'?")


def detect(evidence: Evidence) -> Iterator[Proof]:
    for failure in evidence.failures():
        for line in evidence.lines(LOADER, failure.task):
            name = LOADER.search(line.text).group(1)
            yield Proof(
                facts=(line, failure),
                culprit=failure.task,
                says=f"{failure.task} cannot load the shared library {name}",
                do=(f"install the package that has {name}, or set LD_LIBRARY_PATH",),
            )
        seen = evidence.last_traceback(failure.task)
        if seen is None or seen.exception not in {"ModuleNotFoundError", "ImportError"}:
            continue
        if module := MODULE.search(seen.message):
            name, what, do = module.group(1), "Python module", "python -m pip install"
        elif library := SHARED_OBJECT.search(seen.message):
            name, what, do = library.group(1), "shared library", "install the package that has"
        else:
            continue
        yield Proof(
            facts=(seen, failure),
            culprit=failure.task,
            says=f"{failure.task} cannot load the {what} {name}",
            do=(f"in the task's environment: {do} {name}", "or start it with another interpreter"),
        )


cause = Cause(
    family="missing-library",
    detect=detect,
    hears=(LOADER,),
    remedy=AskHuman(),
    preview=False,
)

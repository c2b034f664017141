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
from holdfast.model.facts import Fact, TaskExited
from holdfast.model.findings import Cause, Proof
from holdfast.model.pattern import Pattern
from holdfast.model.remedies import AskHuman

LOADER = Pattern(r"error while loading shared libraries: ([^:]+):")
SHARED_OBJECT = Pattern(r"([\w./+-]+\.so[\w.]*): cannot open shared object file")
SYMBOL = Pattern(r"([\w./+-]+\.so[\w.]*): undefined symbol")
MODULE = Pattern(r"No module named '?([\w.]+)'?")
# tf.load_op_library and ctypes have exceptions of their own for it.
IMPORT_ERRORS = Pattern(
    r"^(?:ModuleNotFoundError|ImportError|OSError)$|errors_impl\.NotFoundError$"
)


def detect(evidence: Evidence) -> Iterator[Proof]:
    for failure in evidence.failures():
        line = next(evidence.lines(LOADER, failure.task), None)
        if line and evidence.ended_over(failure, LOADER):
            name = LOADER.search(line.text).group(1)
            yield _proof(failure, line, f"the shared library {name}", INSTALL.format(name))
        seen = evidence.last_traceback(failure.task)
        if seen is None or not IMPORT_ERRORS.search(seen.exception):
            continue
        if module := MODULE.search(seen.message):
            name = module.group(1)
            do = f"in the task's environment: python -m pip install {name.partition('.')[0]}"
            yield _proof(failure, seen, f"the Python module {name}", do)
        elif library := SHARED_OBJECT.search(seen.message):
            name = library.group(1)
            yield _proof(failure, seen, f"the shared library {name}", INSTALL.format(name))
        elif library := SYMBOL.search(seen.message):
            name = library.group(1)
            do = f"build {name} again, for the versions of Python and TensorFlow used here"
            yield _proof(failure, seen, f"the shared library {name}: it does not fit", do)


INSTALL = "install what has {}, or set LD_LIBRARY_PATH"


def _proof(failure: TaskExited, said: Fact, what: str, do: str) -> Proof:
    return Proof(
        facts=(said, failure),
        culprit=failure.task,
        says=f"{failure.task} cannot load {what}",
        do=(do, "or start the task with the interpreter that has it"),
    )


cause = Cause(
    family="missing-library",
    detect=detect,
    hears=(LOADER,),
    remedy=AskHuman(),
    preview=False,
)

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
from holdfast.model.wording import Weight, Words

LOADER = Pattern(r"error while loading shared libraries: ([^:]+):")
SHARED_OBJECT = Pattern(r"([\w./+-]+\.so[\w.]*): cannot open shared object file")
SYMBOL = Pattern(r"([\w./+-]+\.so[\w.]*): undefined symbol")
MODULE = Pattern(r"No module named '?([\w.]+)'?")
# tf.load_op_library and ctypes have exceptions of their own for it.
IMPORT_ERRORS = Pattern(
    r"^(?:ModuleNotFoundError|ImportError|OSError)$|errors_impl\.NotFoundError$"
)

# Said on the way to something else that serves as well: plug-ins, and GPUs that are not there.
TRIED_ONLY = Pattern(
    r"Could not load dynamic library|NCCL INFO|libnccl-|[Pp]lugin|(?i:warning)"
    r"|TF-TRT|dlerror|dso_loader|error while loading shared"
)
OTHER_VERSION = Pattern(r"'?tensorflow\.(?:contrib|examples|python\.keras|models|compat)")


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
    where=(
        Pattern(r"dlerror: (?P<culprit>[\w.+-]+\.so[\w.]*): cannot open shared object file"),
        Pattern(r"Could not load dynamic library '(?P<culprit>[^']+)'"),
    ),
    words=(
        Words(Pattern(r"error while loading shared libraries: (?P<culprit>[^:]+):")),
        Words(
            Pattern(
                r"(?:Error|Exception|load library): ?(?:[^\n]*[\s'\"/(])?"
                r"(?P<culprit>[\w.+-]+\.so[\w.]*): cannot open shared object file"
            ),
            unless=TRIED_ONLY,
        ),
        Words(
            Pattern(r"(?P<culprit>[\w.+-]+\.so[\w.]*): cannot open shared object file"),
            Weight.SIGN,
            unless=TRIED_ONLY,
        ),
        Words(
            Pattern(r"(?:ModuleNotFound|Import)Error: No module named '?(?P<culprit>[\w.]+)"),
            unless=OTHER_VERSION,
        ),
        Words(Pattern(r"python[\d.]*: No module named (?P<culprit>[\w.]+)")),
        Words(
            Pattern(r"Could not load library (?P<culprit>\S+\.so[\w.]*)\. Error: "),
            unless=Pattern(r"cannot open shared object file"),
        ),
        Words(
            Pattern(
                r"ImportError: DLL load failed"
                r"|ImportError: Could not find '(?P<culprit>[\w.]+\.dll)'"
            )
        ),
        Words(Pattern(r"Extension (?P<culprit>horovod\.\w+) has not been built")),
        Words(
            Pattern(
                r"Neither MPI nor Gloo support has been built|does not find an installed MPI"
                r"|[Hh]orovod has not been built with"
                r"|Distributed package doesn't have (?:NCCL|MPI|Gloo|UCC|XCCL) (?:built|module)"
                r"|No matching distribution found for"
                r"|CUDA_HOME (?:environment variable is not set|does not)"
                r"|Ninja is required to load C\+\+ extensions"
            )
        ),
        Words(
            Pattern(
                r"No such file or directory: '(?P<culprit>nvcc|mpirun|mpiexec|ninja|cmake|gcc"
                r"|g\+\+|git|java|hadoop|ffmpeg|ssh|srun|nvidia-smi)'"
            )
        ),
        Words(Pattern(r"(?P<culprit>lib\S+\.so[\w.]*) => not found")),
        Words(Pattern(r"Library not loaded: (?P<culprit>\S+)")),
        Words(
            Pattern(
                r"(?:Failed to find dynamic library:?|Can ?not find(?: library:)?|[Uu]nable to find"
                r"|[Cc]ould not find) (?P<culprit>lib\S+\.so[\w.]*)"
            ),
            Weight.SIGN,
            unless=TRIED_ONLY,
        ),
        Words(Pattern(r"line \d+: (?P<culprit>\S*/activate\S*): No such file or directory")),
        Words(
            Pattern(r"EnvironmentNameNotFound: Could not find conda environment: (?P<culprit>\S+)")
        ),
        Words(
            Pattern(r'The following module\(s\) are unknown: "?(?P<culprit>[^"\s]+)'), Weight.SIGN
        ),
        Words(
            Pattern(
                r"(?:ImportError|ModuleNotFoundError|RuntimeError): .*"
                r"(?i:is not installed|please (?:pip )?install |must be installed|to be installed)"
            ),
            Weight.SIGN,
            unless=Pattern(r"No module named|NVIDIA driver|cannot open shared object"),
        ),
        Words(Pattern(r"Cannot dlopen some GPU libraries"), Weight.SIGN),
        Words(
            Pattern(
                r"(?:PackageNotFoundError|DistributionNotFound): |Missing optional dependency"
                r"|requires the [\w.-]+ library but it was not found in your environment"
            )
        ),
        Words(Pattern(r"java\.lang\.(?:NoClassDefFoundError|UnsatisfiedLinkError)"), Weight.SIGN),
        Words(Pattern(r"ClassNotFoundException: (?P<culprit>[\w.$]+)"), Weight.SIGN),
    ),
    do=(
        "in the task's environment: python -m pip install what is missing",
        "for a shared library: install what has it, or set LD_LIBRARY_PATH",
        "or start the task with the interpreter that has it",
    ),
    yields_to=frozenset({"hdfs-library-missing"}),
    remedy=AskHuman(),
    preview=False,
)

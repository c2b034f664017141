"""Which process of a task's family trains: what is around it and what it starts do not."""

from collections.abc import Sequence

from holdfast.model.pattern import Pattern
from holdfast.probes import mapped_files

FAMILY_MAX = 64  # nearest to the task's first process
COMMAND_BYTES_MAX = 4_096
WORDS_OF_PROGRAM = 4
_FRAMEWORK = Pattern(
    r"/(?:site|dist)-packages/(?:tensorflow(?:_core)?|jaxlib)/|/torch/lib/"
    r"|/(?:libtensorflow|libtorch|libxla|xla_extension)[^/]*\.so"
)
_PYTHON = Pattern(r"/(?:libpython[^/]*\.so[^/]*|python[\d.]*|pypy[\d.]*)$")
# They load what they launch, and wait.
_LAUNCHER = Pattern(
    r"^(?:.*/)?(?:torchrun|accelerate|deepspeed|horovodrun)$"
    r"|^torch\.distributed\.(?:run|launch)$|/torch/distributed/(?:run|launch)\.py$"
)


def training_process(pids: Sequence[int]) -> tuple[int, bool]:
    """Of a family, nearest to its first process first: who trains, and whether that is sure.

    The nearest that has loaded a training framework: what it forks has loaded it, too. As long
    as nobody has, the nearest that is a Python, else the last one.
    """
    python = 0
    for pid in pids[:FAMILY_MAX]:
        files = list(mapped_files(pid))
        if any(_FRAMEWORK.search(path) for path in files) and not _is_launcher(pid):
            return pid, True
        if not python and any(_PYTHON.search(path) for path in files):
            python = pid
    return python or pids[-1], False


def _is_launcher(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:  # noqa: PTH123 - as everywhere in /proc
            words = file.read(COMMAND_BYTES_MAX).decode(errors="replace").split("\0")
    except OSError:
        return False
    # The interpreter, its options and what it runs; not what that is told.
    return any(_LAUNCHER.search(word) for word in words[:WORDS_OF_PROGRAM])

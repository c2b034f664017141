"""The stacks of a process with its C and C++ frames: for those that are known to be hung, only."""

from holdfast.probes.stacks.py_spy import program, told_by
from holdfast.probes.stacks.source import printable

LIMIT_S = 60.0  # TensorFlow's symbols are many: seconds are usual
LINES_MAX = 2_000


def native_stacks(pid: int) -> tuple[str, ...]:
    """One line a frame, as py-spy writes them. It stops the process while it looks.

    A healthy task was taken for dead by its peers over this: who asks must know it to be hung.
    """
    command = [program(), "dump", "--native", "--pid", str(pid)]
    code, out, err = told_by(command, limit_s=LIMIT_S)
    if code != 0:
        last = err.decode("utf-8", "replace").strip().splitlines()[-1:] or [f"exit code {code}"]
        raise OSError(f"py-spy: {printable(last[0])}")
    return tuple(map(printable, out.decode("utf-8", "replace").splitlines()[:LINES_MAX]))

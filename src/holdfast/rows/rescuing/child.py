"""Run as a process: reads damaged HDF5 files, each job in a child of its own that may crash.

A job is a line of JSON on standard input; what the child tells are lines on standard output, the
last of them {"ended": code}. The HDF5 library can crash, hang or ask for any amount of memory over
a damaged file: the child has bounds of time and memory that the kernel keeps.
"""

import json
import os
import resource
import signal
import sys
from typing import Any

STEP_S = 60.0
MEMORY_BYTES_MAX = 8 << 30


def main() -> int:
    import h5py  # noqa: F401, PLC0415 - once, for all children

    import holdfast.rows.rescuing.walk  # noqa: F401, PLC0415 - and what it imports
    from holdfast.rows import storage  # noqa: PLC0415

    storage.load_filters()
    tell({"ready": True})
    for line in sys.stdin:
        pid = os.fork()
        if pid == 0:
            _child(json.loads(line))
        _, status = os.waitpid(pid, 0)
        os.write(1, b"\n")  # a line may be left unfinished
        tell({"ended": os.waitstatus_to_exitcode(status)})
    return 0


def tell(said: dict[str, Any]) -> None:
    line = json.dumps(said, default=str).encode() + b"\n"
    while line:
        line = line[os.write(1, line) :]


def _child(job: dict[str, Any]) -> None:
    """Never returns."""
    code = 1
    try:
        step_s = float(job.get("step_s", STEP_S))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        most = MEMORY_BYTES_MAX if hard < 0 else min(hard, MEMORY_BYTES_MAX)
        resource.setrlimit(resource.RLIMIT_AS, (most, hard))
        signal.signal(signal.SIGALRM, signal.SIG_DFL)

        def telling(said: dict[str, Any]) -> None:
            signal.setitimer(signal.ITIMER_REAL, step_s)
            tell(said)

        telling({"begin": ["", job["job"]]})
        _JOBS[job["job"]](job, telling)
        code = 0
    except BaseException as error:  # noqa: BLE001 - it goes into the report
        tell({"failed": f"{error}"[:500] or type(error).__name__})
    finally:
        os._exit(code)


def _walk(job: dict[str, Any], telling: Any) -> None:
    from holdfast.rows.rescuing.library import open_unclean  # noqa: PLC0415
    from holdfast.rows.rescuing.walk import Walk  # noqa: PLC0415

    raw = os.open(job["path"], os.O_RDONLY | os.O_CLOEXEC)
    with open_unclean(job["path"]) as file:
        Walk(
            file,
            raw,
            limit=job["limit"],
            base=job["base"],
            skip=job["skip"],
            done=job["done"],
            tell=telling,
        ).go()


def _copy(job: dict[str, Any], telling: Any) -> None:
    import h5py  # noqa: PLC0415

    from holdfast.rows.rescuing.copying import copy_all  # noqa: PLC0415
    from holdfast.rows.rescuing.library import open_unclean  # noqa: PLC0415

    with (
        open_unclean(job["path"]) as source,
        h5py.File(job["to"], "x", locking=False) as target,
    ):
        copy_all(source, target, job["plan"], telling)
        telling({"begin": ["", "close"]})


def _clear(job: dict[str, Any], telling: Any) -> None:
    from holdfast.rows.rescuing.library import clear_marks  # noqa: PLC0415

    clear_marks(job["path"])


def _rows(job: dict[str, Any], telling: Any) -> None:
    import h5py  # noqa: PLC0415

    from holdfast.rows.rescuing.rows_file import write_rows  # noqa: PLC0415

    with h5py.File(job["to"], "x", locking=False) as target:
        write_rows(target, job["plan"], telling)
        telling({"begin": ["", "close"]})


_JOBS = {"walk": _walk, "copy": _copy, "clear": _clear, "rows": _rows}

if __name__ == "__main__":
    sys.exit(main())

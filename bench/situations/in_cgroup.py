"""A cgroup with a limit of memory, which one task of a job enters when it starts."""

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path

CGROUPS = Path("/sys/fs/cgroup/memory")
EMPTY_S_MAX = 10.0
ENTER = """#!/bin/sh
if [ "$HOLDFAST_TASK" = {task} ]; then echo $$ > {place}/cgroup.procs; fi
exec "$@"
"""


@contextlib.contextmanager
def limited(folder: Path, *, task: str, limit_bytes: int) -> Iterator[str]:
    """A script to be put before the command of a job."""
    place = CGROUPS / f"holdfast-situations-{os.getpid()}"
    place.mkdir()
    try:
        (place / "memory.limit_in_bytes").write_text(str(limit_bytes))
        enter = folder / "enter.sh"
        enter.write_text(ENTER.format(task=task, place=place))
        enter.chmod(0o755)
        yield str(enter)
    finally:
        _remove(place)


def no_cgroups() -> str:
    if os.geteuid():
        return "it takes root"
    return "" if CGROUPS.is_dir() else "it takes cgroups of version 1"


def _remove(place: Path) -> None:
    """Once the last process has left it."""
    until_s = time.monotonic() + EMPTY_S_MAX
    while place.exists() and time.monotonic() < until_s:
        with contextlib.suppress(OSError):
            place.rmdir()
        time.sleep(0.1)

"""Why a process does nothing: stopped, traced, frozen with its cgroup, or stuck on storage."""

import os
from dataclasses import dataclass
from pathlib import Path

from holdfast.probes import cgroup_folders

NAME_LENGTH_MAX = 64
PATH_LENGTH_MAX = 512
THREADS_MAX = 2_000
# On x86-64 the first argument of these calls is a descriptor: read, write, pread64, pwrite64,
# readv, writev, fsync, fdatasync, ftruncate, getdents64, close, fstat, lseek, fallocate.
_TAKES_FD = frozenset({0, 1, 17, 18, 19, 20, 74, 75, 77, 217, 3, 5, 8, 285})
_NUMBERS_KNOWN = os.uname().machine == "x86_64"


@dataclass(frozen=True, slots=True)
class Ran:
    """How much the main thread of a process has run and waited so far, from its schedstat."""

    on_core_ns: int
    wanted_ns: int  # wanted a core, and got none
    times: int


def ran(pid: int) -> Ran | None:
    """None where the process is gone, or the kernel does not count."""
    try:
        with open(f"/proc/{pid}/task/{pid}/schedstat", "rb") as file:  # noqa: PTH123 - every look
            on_core, wanted, times = file.read().split()
    except (OSError, ValueError):
        return None
    return Ran(int(on_core), int(wanted), int(times))


def stuck_thread(pid: int) -> int:
    """A thread of a process that waits for storage; 0: none does."""
    try:
        threads = os.listdir(f"/proc/{pid}/task")  # noqa: PTH208 - as every look
    except OSError:
        return 0
    for thread in threads[:THREADS_MAX]:
        try:
            with open(f"/proc/{pid}/task/{thread}/stat", "rb") as file:  # noqa: PTH123
                text = file.read()
        except OSError:
            continue
        if text[text.rindex(b")") + 2 :][:1] == b"D":
            return int(thread)
    return 0


def frozen_cgroup(pid: int) -> str:
    """The nearest cgroup around a process that is frozen; empty where none is."""
    for folder in cgroup_folders("freezer", pid=pid):
        if _first_word(folder / "freezer.state") in {"FROZEN", "FREEZING"}:
            return _name(folder)
    for folder in _unified(pid):
        if "frozen 1" in _text(folder / "cgroup.events"):
            return _name(folder)
    return ""


def _unified(pid: int) -> list[Path]:
    """Its cgroup of version 2, also where that is mounted beside version 1."""
    path = next(
        (
            line[3:]
            for line in _text(Path(f"/proc/{pid}/cgroup")).splitlines()
            if line.startswith("0::")
        ),
        "",
    )
    mounts = (Path("/sys/fs/cgroup"), Path("/sys/fs/cgroup/unified"))
    return [mount / path.strip("/") for mount in mounts if (mount / "cgroup.procs").exists()]


def tracer_of(pid: int) -> str:
    """Who traces a process: `gdb (pid 4711)`; empty where nobody does."""
    for line in _text(Path(f"/proc/{pid}/status")).splitlines():
        if line.startswith("TracerPid:"):
            tracer = int(line.split()[1])
            name = _text(Path(f"/proc/{tracer}/comm")).strip()[:NAME_LENGTH_MAX]
            return f"{name or 'a debugger'} (pid {tracer})" if tracer else ""
    return ""


def waits_in(pid: int) -> str:
    """The kernel's name for what the main thread waits in; empty where it does not tell."""
    channel = _text(Path(f"/proc/{pid}/wchan")).strip()[:NAME_LENGTH_MAX]
    return "" if channel == "0" else channel


def file_waited_for(pid: int) -> str:
    """The file that the main thread's system call is about, where that takes a descriptor.

    Only the link is read: a look at the file itself would wait for the same storage.
    """
    call = _text(Path(f"/proc/{pid}/syscall")).split() if _NUMBERS_KNOWN else []
    if len(call) < 2 or not call[0].isdigit() or int(call[0]) not in _TAKES_FD:  # noqa: PLR2004
        return ""
    try:
        target = str(Path(f"/proc/{pid}/fd/{int(call[1], 16)}").readlink())
    except OSError:
        return ""
    return target[:PATH_LENGTH_MAX] if target.startswith("/") else ""


def _first_word(file: Path) -> str:
    return _text(file).strip()


def _name(folder: Path) -> str:
    return str(folder.relative_to("/sys/fs/cgroup"))[:PATH_LENGTH_MAX]


def _text(file: Path) -> str:
    try:
        return file.read_text(errors="replace")
    except OSError:
        return ""

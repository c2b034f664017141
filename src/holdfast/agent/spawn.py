"""Starts one process whose output nobody can block, and that owes us nothing.

Only the holder does that, and it lives as long as the training: it imports little.
"""

import ctypes
import errno
import os
import signal
from collections.abc import Mapping, Sequence

from holdfast.agent.open_files import files_limited_to

_PR_SET_CHILD_SUBREAPER = 36
_CATCHABLE = sorted(signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP})


def spawn(
    command: Sequence[str], env: Mapping[str, str], *, out_fd: int, err_fd: int, files_max: int
) -> int:
    """Execute a command in a session of its own; raises OSError when it cannot be executed.

    Signals that we ignore, or that the shell told us to ignore (`nohup`), would be ignored
    by the task for ever: every disposition is reset.
    """
    redirect = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        # Opened once more, not duplicated: ours may lie beyond the task's limit of open files.
        (os.POSIX_SPAWN_OPEN, 1, f"/proc/self/fd/{out_fd}", os.O_WRONLY | os.O_APPEND, 0),
        (os.POSIX_SPAWN_OPEN, 2, f"/proc/self/fd/{err_fd}", os.O_WRONLY | os.O_APPEND, 0),
    ]
    with files_limited_to(files_max):
        return os.posix_spawn(
            _place_of(command[0], env),
            list(command),
            dict(env),
            file_actions=redirect,
            setsid=True,
            setsigmask=[],
            setsigdef=_CATCHABLE,
        )


def _place_of(program: str, env: Mapping[str, str]) -> str:
    """Where the task's own PATH leads, as a shell would look in it: it may not be ours."""
    if "/" in program:
        return program
    number = errno.ENOENT
    for folder in env.get("PATH", os.defpath).split(os.pathsep):
        place = f"{folder or '.'}/{program}"
        if os.path.isfile(place):  # noqa: PTH113 - pathlib costs the holder a megabyte
            if os.access(place, os.X_OK):
                return place
            number = errno.EACCES
    raise OSError(number, os.strerror(number), program)


def adopt_orphans() -> None:
    """Grandchildren whose parent ends become our children, so that none is lost sight of."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_CHILD_SUBREAPER)")


def reap_orphans(ours: frozenset[int]) -> None:
    """Let go of adopted processes that have ended. Bounded: the rest waits for the next call."""
    for _ in range(ORPHANS_A_CALL_MAX):
        try:
            found = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return
        if found is None:
            return
        if found.si_pid in ours:
            _reap_behind(ours)
            return
        os.waitpid(found.si_pid, os.WNOHANG)


def _reap_behind(ours: frozenset[int]) -> None:
    """The kernel shows only the first that has ended, and that is a task which we still hold."""
    me = b"%d" % os.getpid()
    for name in os.listdir("/proc"):  # noqa: PTH208
        if name.isdigit() and int(name) not in ours:
            fields = _stat(int(name))
            if fields[:2] == [b"Z", me]:
                os.waitpid(int(name), os.WNOHANG)


def began_ticks(pid: int) -> int:
    """With the pid, the identity of a process: pids are used again. 0: it is gone."""
    fields = _stat(pid)
    return int(fields[_STARTED]) if fields else 0


def _stat(pid: int) -> list[bytes]:
    """From its state on: before it stands a name that may hold anything."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123
            return file.read().rpartition(b")")[2].split()
    except OSError:
        return []


_STARTED = 19
ORPHANS_A_CALL_MAX = 1_000

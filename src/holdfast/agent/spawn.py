"""Starts one process whose output nobody can block, and that owes us nothing."""

import contextlib
import ctypes
import errno
import os
import shutil
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from holdfast.agent.open_files import files_limited_to

_PR_SET_CHILD_SUBREAPER = 36
_CATCHABLE = sorted(signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP})


@dataclass(frozen=True, slots=True)
class Spawned:
    pid: int
    pidfd: int  # readable when the process has ended; never another process's


def spawn(
    command: Sequence[str], env: Mapping[str, str], *, out_fd: int, err_fd: int, files_max: int
) -> Spawned:
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
        pid = os.posix_spawn(
            _place_of(command[0], env),
            list(command),
            dict(env),
            file_actions=redirect,
            setsid=True,
            setsigmask=[],
            setsigdef=_CATCHABLE,
        )
    return Spawned(pid, os.pidfd_open(pid))


def _place_of(program: str, env: Mapping[str, str]) -> str:
    """Where the task's own PATH leads, as a shell would look in it: it may not be ours."""
    if "/" in program:
        return program
    found = shutil.which(program, path=env.get("PATH", os.defpath))
    if found is None:
        there = shutil.which(program, mode=os.F_OK, path=env.get("PATH", os.defpath))
        number = errno.EACCES if there else errno.ENOENT
        raise OSError(number, os.strerror(number), program)
    return found


@dataclass(frozen=True, slots=True)
class Ending:
    exit_code: int | None
    signal: int | None
    core_dumped: bool


def ending_of(spawned: Spawned) -> Ending | None:
    """How a process ended, without reaping it: its traces in /proc stay to be read."""
    found = os.waitid(os.P_PIDFD, spawned.pidfd, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    if found is None:
        return None
    if found.si_code == os.CLD_EXITED:
        return Ending(found.si_status, None, core_dumped=False)
    return Ending(None, found.si_status, core_dumped=found.si_code == os.CLD_DUMPED)


def reap(spawned: Spawned) -> None:
    with contextlib.suppress(ChildProcessError):
        os.waitpid(spawned.pid, 0)
    os.close(spawned.pidfd)


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
        if found is None or found.si_pid in ours:
            return
        os.waitpid(found.si_pid, os.WNOHANG)


ORPHANS_A_CALL_MAX = 1_000

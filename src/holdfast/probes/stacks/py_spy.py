"""Python threads as py-spy reads them from a process's memory, without stopping it."""

import json
import os
import selectors
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from holdfast.model.errors import MissingInput
from holdfast.model.watch_facts import ThreadStack
from holdfast.probes.stacks.source import Sources, printable, short_path

LIMIT_S = 3.0
OUTPUT_BYTES_MAX = 8 << 20
THREADS_MAX = 128
FRAMES_MAX = 60  # of one thread: its innermost, and the outermost one
NAME_LENGTH_MAX = 120
PATH_LENGTH_MAX = 240
_FUTEX_PRIVATE = 0x80  # a flag of its operation: only threads of this process can wake it
_FORBIDDEN = (b"ermission denied", b"ermission Denied", b"not permitted")


class NoPySpy(MissingInput):
    """There is no py-spy on this host."""


class NotPermitted(Exception):  # noqa: N818 - an answer, not an error of ours
    """The kernel lets us not read that process."""


def py_spy_threads(pid: int, sources: Sources) -> tuple[ThreadStack, ...]:
    """The Python threads of a process, the main one first; none when it could not be read.

    Never with `--native`, which stops the process for seconds, and never without
    `--nonblocking`: peers take a task that is stopped for dead.
    """
    command = [program(), "dump", "--nonblocking", "--json", "--pid", str(pid)]
    code, out, err = told_by(command)
    if code != 0:
        if any(words in err for words in _FORBIDDEN):
            raise NotPermitted(f"the kernel lets us not read the memory of pid {pid}")
        last = err.decode("utf-8", "replace").strip().splitlines()[-1:] or [f"exit code {code}"]
        raise OSError(f"py-spy: {last[0][:NAME_LENGTH_MAX]}")
    try:
        threads = json.loads(out)
    except (ValueError, RecursionError) as error:
        raise OSError("py-spy: its output was cut") from error
    return threads_from(threads, pid, sources)


def threads_from(told: Any, pid: int, sources: Sources) -> tuple[ThreadStack, ...]:
    """What py-spy told of a process, as its threads: JSON of a stranger's memory."""
    found: list[tuple[bool, ThreadStack]] = []
    for thread in told[:THREADS_MAX] if isinstance(told, list) else ():
        try:
            found.append(_thread(thread, pid, sources))
        except (KeyError, TypeError, ValueError, AttributeError):
            continue  # torn
    found.sort(key=lambda one: not one[0])
    return tuple(thread for _, thread in found)


def _thread(told: dict[str, Any], pid: int, sources: Sources) -> tuple[bool, ThreadStack]:
    """Whether it is the main one, and the thread."""
    ident = int(told.get("os_thread_id") or 0)
    name = printable(str(told.get("thread_name") or "")[:NAME_LENGTH_MAX])
    frames: list[str] = []
    holds: list[str] = []
    seen = [_frame(frame, sources) for frame in told["frames"]]
    whole = bool(seen) and seen[0] is not None
    for frame in reversed(seen):  # py-spy has the innermost first
        # Without its innermost frame, a stack says something else: then it says nothing.
        if whole and frame is not None:
            path, line, function = frame
            frames.append(frame_text(path, line, function, sources))
            holds += sources.holds(path, function, line)
    if len(frames) > FRAMES_MAX:
        frames = [frames[0], *frames[1 - FRAMES_MAX :]]
    stack = ThreadStack(
        thread=ident or int(told["thread_id"]),
        frames=tuple(frames),
        name=name,
        running=bool(told.get("active") or told.get("owns_gil")),
        holds=tuple(holds),
        blocked=blocked(pid, ident) if ident else "",
        has_gil=bool(told.get("owns_gil")),
    )
    return ident == pid or (not ident and name == "MainThread"), stack


def frame_text(path: str, line: int, function: str, sources: Sources) -> str:
    """`file:line function: code`, as ThreadStack has it."""
    code = sources.code(path, line)
    where = f"{short_path(path)[-PATH_LENGTH_MAX:]}:{line} {function}"
    return f"{where}: {code}" if code else where


def _frame(told: dict[str, Any], sources: Sources) -> tuple[str, int, str] | None:
    """File, line and function; None where these cannot be."""
    path, line = str(told["filename"]), int(told["line"])
    function = str(told["name"]).replace(" ", "")
    readable = path.isprintable() and function.isprintable() and bool(path and function)
    if not readable or sources.is_absurd(path, line):
        return None
    return path, line, function[:NAME_LENGTH_MAX]


def blocked(pid: int, thread: int) -> str:
    """What a thread waits in, by the kernel, as ThreadStack has it."""
    try:
        place = f"/proc/{pid}/task/{thread}"
        channel = Path(f"{place}/wchan").read_text().strip()
        call = Path(f"{place}/syscall").read_text().split()
    except OSError:
        return ""
    if not channel or channel == "0" or call[:1] == ["running"]:
        return ""
    if channel.startswith("futex") and len(call) > 4:  # noqa: PLR2004 - number and 4 arguments
        # The fourth argument is the time-out: NULL waits until somebody wakes us.
        if int(call[4], 16):
            return "timer"
        return "waker" if int(call[2], 16) & _FUTEX_PRIVATE else "shared"
    return "timer" if "nanosleep" in channel else channel[:NAME_LENGTH_MAX]


def program() -> str:
    """Where py-spy is: in our own environment, else on the path."""
    beside = Path(sys.executable).with_name("py-spy")
    folders = (beside.parent, *map(Path, os.get_exec_path()))
    for folder in folders:
        if os.access(folder / "py-spy", os.X_OK) and folder.is_absolute():
            return str(folder / "py-spy")
    raise NoPySpy(
        "py-spy is not installed: the stacks of tasks cannot be read",
        do="pip install 'holdfast[stacks]'",
    )


def told_by(command: list[str], *, limit_s: float | None = None) -> tuple[int, bytes, bytes]:
    """Exit code and output of a program that gets neither long nor much to say."""
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    told = {process.stdout: bytearray(), process.stderr: bytearray()}
    limit_s = LIMIT_S if limit_s is None else limit_s
    until_s = time.monotonic() + limit_s
    try:
        with selectors.DefaultSelector() as selector:
            for stream in told:
                selector.register(stream, selectors.EVENT_READ)
            while selector.get_map():
                ready = selector.select(max(0.0, until_s - time.monotonic()))
                if not ready:
                    raise TimeoutError(f"py-spy took more than {limit_s:.0f} s")
                for key, _ in ready:
                    chunk = os.read(key.fd, 1 << 16)
                    if not chunk:
                        selector.unregister(key.fileobj)
                    told[key.fileobj] += chunk  # type: ignore[index]
                if sum(map(len, told.values())) > OUTPUT_BYTES_MAX:
                    raise OSError("py-spy told more than anybody could read")
        return process.wait(), bytes(told[process.stdout]), bytes(told[process.stderr])
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        process.stdout.close()
        process.stderr.close()

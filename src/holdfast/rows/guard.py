"""Stops h5py from opening a file for writing that somebody writes already, before any damage.

`install()` changes `h5py.File` in this process: for the modes r+, a, w, w- and x the side file of
`holdfast.rows.lease` is asked first, so that a second process, a second host on shared storage or
a second open in the same process hears `Held` with host, pid, task and time, and mode 'w' does not
truncate. Reading is not touched. Hard links are told by inode among the processes of this host.

Not seen: programs that open the file without this guard and under its only name, h5py's low level
(`h5py.h5f`), other libraries, and drivers that share one file on purpose (mpio).

This file needs nothing but Python and its neighbour `lease.py`: it is taken into tasks where
Holdfast is not installed.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import json
import os
import sys
import threading
from typing import Any

if __name__.startswith("holdfast."):
    from holdfast.rows import lease
else:  # taken along into a task, without the rest
    import importlib.util

    _spec = importlib.util.spec_from_file_location(
        "_holdfast_lease",
        os.path.join(os.path.dirname(os.path.abspath(__file__)), "lease.py"),  # noqa: PTH100, PTH118, PTH120
    )
    assert _spec is not None
    assert _spec.loader is not None
    lease = importlib.util.module_from_spec(_spec)
    sys.modules["_holdfast_lease"] = lease  # dataclasses look their module up
    _spec.loader.exec_module(lease)

WRITES = ("r+", "a", "w", "w-", "x")
EXCLUSIVE = ("w-", "x")
DRIVERS = (None, "sec2", "stdio", "direct", "core")
TERM_S = 24 * 3600.0  # only another host must believe it: here, the process itself is looked at
PROCESSES_MAX = 20_000
FILES_MAX = 100_000
_lock = threading.RLock()
_leases: dict[str, lease.Lease] = {}  # by side file
_whole: dict[str, Any] = {}  # h5py's own functions, while ours are in their place
_task = ""


class HeldFile(lease.Held, BlockingIOError):  # noqa: N818 - reads as what it says
    """As h5py's own error for a locked file, so that a program that tries again still does."""


def install(task: str = "") -> None:
    """Guard every `h5py.File` of this process from now on; once more changes nothing."""
    import h5py  # noqa: PLC0415

    global _task  # noqa: PLW0603 - one per process, as h5py itself
    with _lock:
        _task = task or _task or _own_name()
        if _whole:
            return
        kind = h5py.File
        _whole.update(init=kind.__init__, close=kind.close, flush=kind.flush, kind=kind)
        kind.__init__ = _guarded_init(kind.__init__, int(h5py.__version__.partition(".")[0]))
        kind.close = _guarded_close(kind.close)
        kind.flush = _guarded_flush(kind.flush)
        atexit.register(_release_all)


def install_on_import(task: str = "") -> None:
    """Guard h5py as soon as the program imports it, if it ever does; nothing is imported now."""
    if "h5py" in sys.modules:
        install(task)
    elif not any(isinstance(finder, _WaitForH5py) for finder in sys.meta_path):
        sys.meta_path.insert(0, _WaitForH5py(task))


class _WaitForH5py:
    """Stands first among those who find modules, and steps aside when h5py is asked for."""

    def __init__(self, task: str) -> None:
        self._task = task

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name != "h5py":
            return None
        import importlib.util  # noqa: PLC0415 - only here

        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is None or spec.loader is None:
            return spec
        load = spec.loader.exec_module

        def load_and_guard(module: Any) -> None:
            load(module)
            install(self._task)

        spec.loader.exec_module = load_and_guard  # type: ignore[method-assign]
        return spec


def uninstall() -> None:
    """Give h5py back as it was, and let go of all files."""
    with _lock:
        if not _whole:
            return
        kind = _whole["kind"]
        kind.__init__, kind.close, kind.flush = (
            _whole[name] for name in ("init", "close", "flush")
        )
        _whole.clear()
        atexit.unregister(_release_all)
        _release_all()


def _guarded_init(init: Any, version: int) -> Any:
    default = "r" if version >= 3 else "a"  # noqa: PLR2004

    @functools.wraps(init)
    def __init__(self: Any, name: Any, mode: Any = default, *more: Any, **named: Any) -> None:  # noqa: N807
        path = _written(name, mode or default, named.get("driver", more[0] if more else None))
        if path is None:
            init(self, name, mode, *more, **named)
            return
        with _lock:
            _sweep()
            with _announced(path):
                taken = _take(path)
                try:
                    init(self, name, mode, *more, **named)
                except BaseException:
                    _let_go(taken)
                    raise
                _note(taken, path)

    return __init__


def _guarded_close(close: Any) -> Any:
    @functools.wraps(close)
    def closed(self: Any) -> None:
        close(self)
        if _leases:
            with _lock:
                _sweep()

    return closed


def _guarded_flush(flush: Any) -> Any:
    @functools.wraps(flush)
    def flushed(self: Any) -> None:
        flush(self)
        if _leases:
            with _lock, contextlib.suppress(OSError, lease.Held):
                for taken in _leases.values():
                    taken.renew()

    return flushed


def _written(name: Any, mode: Any, driver: Any) -> str | None:
    """The path that would be written; None where there is nothing to guard."""
    if mode not in WRITES or driver not in DRIVERS:
        return None
    if not isinstance(name, (str, bytes, os.PathLike)):
        return None  # a file object, or a file that is open already
    path = os.path.realpath(os.fsdecode(name))
    if mode in EXCLUSIVE and os.path.exists(path):  # noqa: PTH110
        return None  # h5py says that it exists
    # Where no side file can be made, h5py cannot make the file either, and says why.
    return path if os.access(os.path.dirname(path), os.W_OK) else None  # noqa: PTH120


@contextlib.contextmanager
def _announced(path: str) -> Any:
    """Have the file open while we ask who else has: of two who look at once, both see it."""
    try:
        fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except OSError:  # not there yet, or not ours to write: h5py says so
        yield
        return
    try:
        known = os.fstat(fd)
        if known.st_nlink > 1:
            _refuse_other_names(path, known)
        yield
    finally:
        os.close(fd)


def _refuse_other_names(path: str, known: os.stat_result) -> None:
    """A file with several names has several side files: ask for its inode."""
    for pid in _processes():
        for other in _open_paths(pid, known, but=path if pid == os.getpid() else ""):
            owner = lease.owner_of(other) or lease.seen_from_outside(pid)
            raise _as_held_file(lease.held(path, owner))


def _take(path: str) -> lease.Lease:
    try:
        taken = lease.take(
            path,
            task=_task,
            term_s=TERM_S,
            stays=False,
            counts=functools.partial(_counts, path=path),
        )
    except lease.Held as error:
        raise _as_held_file(error) from None
    _leases[taken.side_file] = taken
    return taken


def _as_held_file(error: Any) -> HeldFile:
    held = HeldFile(
        error.message,
        do=error.do,
        host=error.host,
        pid=error.pid,
        task=error.task,
        since=error.since,
    )
    held.errno = 11
    return held


def _counts(owner: lease.Owner, *, path: str) -> bool:
    """Whether it lives, has the file open, and means the file that has the name now."""
    if not lease.is_held(owner):
        return False
    inode = _inode(path)
    if owner.inode and owner.inode != inode:
        return False  # what it writes was replaced by another file
    if not owner.inode or (owner.boot, owner.pid_space) != (lease.boot_id(), lease.pid_space()):
        return True
    return _has_open(owner.pid, owner.inode)


def _note(taken: lease.Lease, path: str) -> None:
    with contextlib.suppress(OSError, lease.Held):
        taken.renew(inode=_inode(path))


def _let_go(taken: lease.Lease) -> None:
    taken.release()
    _leases.pop(taken.side_file, None)


def _sweep() -> None:
    """Let go of what this process has open no longer, however it was closed."""
    for taken in list(_leases.values()):
        inode = taken.owner.inode
        if taken.owner.pid != os.getpid():
            del _leases[taken.side_file]  # our parent's
        elif inode and not _has_open(os.getpid(), inode):
            _let_go(taken)


def _release_all() -> None:
    with _lock:
        for taken in list(_leases.values()):
            _let_go(taken)


def _inode(path: str) -> int:
    try:
        return os.stat(path).st_ino  # noqa: PTH116
    except OSError:
        return 0


def _has_open(pid: int, inode: int) -> bool:
    """Whether a process has this file open for writing; where we may not look, it has."""
    folder = "/proc/%d/fd" % pid  # noqa: UP031
    try:
        numbers = os.listdir(folder)  # noqa: PTH208
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return any(_is_written(pid, number, inode) for number in numbers[:FILES_MAX])


def _is_written(pid: int, number: str, inode: int) -> bool:
    try:
        if os.stat("/proc/%d/fd/%s" % (pid, number)).st_ino != inode:  # noqa: PTH116, UP031
            return False
        with open("/proc/%d/fdinfo/%s" % (pid, number), encoding="ascii") as file:  # noqa: PTH123, UP031
            fields = dict(
                line.split(":", 1) for line in file.read(4096).splitlines() if ":" in line
            )
        return bool(int(fields.get("flags", "0"), 8) & (os.O_WRONLY | os.O_RDWR))
    except (OSError, ValueError):
        return False


def _processes() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()][:PROCESSES_MAX]  # noqa: PTH208


def _open_paths(pid: int, known: os.stat_result, *, but: str) -> list[str]:
    """Under which names a process has a file open for writing, the given one left out."""
    found = []
    folder = "/proc/%d/fd" % pid  # noqa: UP031
    try:
        numbers = os.listdir(folder)[:FILES_MAX]  # noqa: PTH208
    except OSError:
        return []
    for number in numbers:
        with contextlib.suppress(OSError):
            seen = os.stat("%s/%s" % (folder, number))  # noqa: PTH116, UP031
            if (seen.st_dev, seen.st_ino) == (known.st_dev, known.st_ino):
                name = os.readlink("%s/%s" % (folder, number))  # noqa: PTH115, UP031
                if name != but and _is_written(pid, number, known.st_ino):
                    found.append(name)
    return found


def _own_name() -> str:
    """The task as TensorFlow names it, or the program's file."""
    with contextlib.suppress(ValueError, TypeError, KeyError, AttributeError):
        task = json.loads(os.environ.get("TF_CONFIG", ""))["task"]
        return "%s:%d" % (task["type"], int(task["index"]))  # noqa: UP031
    return os.path.basename(sys.argv[0]) or "python"  # noqa: PTH119

"""Stops h5py from opening a file for writing that somebody writes already, before any damage.

`install()` changes `h5py.File` in this process: for the modes r+, a, w, w- and x the side file of
`holdfast.rows.lease` is asked first, so that a second process, a second host on shared storage or
a second open in the same process hears `Held` with host, pid, task and time, and mode 'w' does not
truncate. Reading is not touched. On this host a file is also known by its inode: under another
name, by a hard link or after somebody has renamed it, and when its side file was removed. A child
that is forked may go on to read what its parent writes; to write, it opens the file itself.

Not seen: programs that open the file without this guard and under its only name, h5py's low level
(`h5py.h5f`), other libraries, drivers that make several files of one or share one on purpose.

This file needs nothing but Python and its neighbours here: it is taken into tasks where Holdfast
is not installed.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import importlib
import json
import os
import sys
import types
from typing import Any

if __name__.startswith("holdfast."):
    from holdfast.rows import guarded_files
else:  # taken along into a task, without the rest
    _package = types.ModuleType("_holdfast_rows")
    _package.__path__ = [os.path.dirname(os.path.abspath(__file__))]  # noqa: PTH100, PTH120
    sys.modules.setdefault(_package.__name__, _package)
    guarded_files = importlib.import_module("_holdfast_rows.guarded_files")

HeldFile = guarded_files.HeldFile
WRITES = ("r+", "a", "w", "w-", "x")
EXCLUSIVE = ("w-", "x")
DRIVERS = (None, "sec2", "stdio", "direct", "core")
MARK = "_holdfast_guard"  # on h5py.File: which copy of this module guards it
_whole: dict[str, Any] = {}  # h5py's own functions, while ours are in their place
_task = ""
_sees_forks = False


def install(task: str = "") -> None:
    """Guard every `h5py.File` of this process from now on; once more changes nothing."""
    import h5py  # noqa: PLC0415

    global _task  # noqa: PLW0603 - one per process, as h5py itself
    kind = h5py.File
    other = getattr(kind, MARK, None)
    if other is not None and other is not sys.modules.get(__name__):
        other.install(task)  # `holdfast run --guard-hdf5` was there first, with a copy of its own
        return
    _task = task or _task or _own_name()
    if _whole:
        return
    _whole.update(init=kind.__init__, close=kind.close, flush=kind.flush, kind=kind)
    kind.__init__ = _guarded_init(kind, int(h5py.__version__.partition(".")[0]))
    kind.close = _guarded_close(kind.close, kind.flush)
    kind.flush = _guarded_flush(kind.flush)
    setattr(kind, MARK, sys.modules.get(__name__))
    atexit.register(_at_exit)
    _see_forks(h5py)


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
    if not _whole:
        h5py = sys.modules.get("h5py")
        other = getattr(h5py.File, MARK, None) if h5py is not None else None
        if other is not None:
            other.uninstall()
        return
    kind = _whole["kind"]
    kind.__init__, kind.close, kind.flush = (_whole[name] for name in ("init", "close", "flush"))
    delattr(kind, MARK)
    _whole.clear()
    atexit.unregister(_at_exit)
    guarded_files.let_go_of_all()


def _guarded_init(kind: Any, version: int) -> Any:
    init, close = kind.__init__, kind.close
    default = "r" if version >= 3 else "a"  # noqa: PLR2004

    @functools.wraps(init)
    def __init__(self: Any, name: Any, mode: Any = default, *more: Any, **named: Any) -> None:  # noqa: N807
        driver = named.get("driver", more[0] if more else None)
        path = _written(name, mode or default, driver, backed=named.get("backing_store", True))
        if path is None:
            init(self, name, mode, *more, **named)
            return
        guarded_files.open_guarded(
            path,
            task=_task,
            file=self,
            init=functools.partial(init, self, name, mode, *more, **named),
            close=functools.partial(close, self),
        )

    return __init__


def _guarded_close(close: Any, flush: Any) -> Any:
    @functools.wraps(close)
    def closed(self: Any) -> None:
        if guarded_files.is_inherited(self):
            _close_inherited(self, close, flush)
            return
        try:
            close(self)
        finally:
            guarded_files.sweep_soon()

    return closed


def _close_inherited(file: Any, close: Any, flush: Any) -> None:
    """Its parent's: what this child has changed is not written, and that is told.

    HDF5 writes a few bytes at every close, changed or not, and is refused by the system.
    """
    try:
        flush(file)
    except (OSError, RuntimeError) as error:
        raise guarded_files.not_the_childs(file) from error
    finally:
        with contextlib.suppress(OSError, RuntimeError):
            close(file)


def _guarded_flush(flush: Any) -> Any:
    @functools.wraps(flush)
    def flushed(self: Any) -> None:
        try:
            flush(self)
        except (OSError, RuntimeError) as error:
            if guarded_files.is_inherited(self):
                raise guarded_files.not_the_childs(self) from error
            raise
        guarded_files.renew_old()

    return flushed


def _at_exit() -> None:
    h5py = sys.modules["h5py"]
    if guarded_files.has_inherited():
        for number in h5py.h5f.get_obj_ids(types=h5py.h5f.OBJ_FILE):
            file = h5py.File(number)
            if guarded_files.is_inherited(file):
                file.close()
    guarded_files.at_exit()


def _written(name: Any, mode: Any, driver: Any, *, backed: Any) -> str | None:
    """The path that would be written; None where there is nothing to guard."""
    if mode not in WRITES or driver not in DRIVERS or not backed:
        return None
    if not isinstance(name, (str, bytes, os.PathLike)):
        return None  # a file object, or a file that is open already
    path = os.path.realpath(os.fsdecode(name))
    if mode in EXCLUSIVE and os.path.exists(path):  # noqa: PTH110
        return None  # h5py says that it exists
    return path


def _see_forks(h5py: Any) -> None:
    global _sees_forks  # noqa: PLW0603 - it cannot be taken back
    if _sees_forks:
        return
    _sees_forks = True

    def flush_all() -> None:
        for file in h5py.h5f.get_obj_ids(types=h5py.h5f.OBJ_FILE):
            h5py.h5f.flush(file)

    os.register_at_fork(
        before=functools.partial(guarded_files.before_fork, flush_all),
        after_in_parent=guarded_files.after_fork_in_parent,
        after_in_child=guarded_files.after_fork_in_child,
    )


def _own_name() -> str:
    """The task as TensorFlow names it, or the program's file."""
    with contextlib.suppress(ValueError, TypeError, KeyError, AttributeError):
        task = json.loads(os.environ.get("TF_CONFIG", ""))["task"]
        return "%s:%d" % (task["type"], int(task["index"]))  # noqa: UP031
    return os.path.basename(sys.argv[0]) or "python"  # noqa: PTH119

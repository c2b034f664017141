"""Lets a task write down its stacks when asked by a signal, and its last words by itself.

It also lets `import holdfast` work where Holdfast is not installed: found last of all, and only
what runs inside of a task. With `--guard-hdf5` it guards h5py.

The launcher puts this file's folder first on PYTHONPATH. Python imports `sitecustomize` once, at
its start: we take our folder off the path again, and let the user's own `sitecustomize` follow.
A real-time signal, because no program uses one unasked: SIGUSR1 and its kin are taken by
schedulers and by users' own checkpoint code. It is sent only to a process that catches it.
"""

import os
import sys

_FOLDER = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 - no pathlib here
_IN_TASK = os.path.dirname(_FOLDER)  # noqa: PTH120
_FD = 200  # out of the way of programs that count on the lowest number


def _arm(folder):  # type: ignore[no-untyped-def]
    # Not `signal`: that one imports enum, which costs more than all the rest.
    import _signal  # type: ignore[import-not-found]  # noqa: PLC0415
    import atexit  # noqa: PLC0415
    import faulthandler  # noqa: PLC0415

    number = _signal.SIGRTMIN + 7
    if _signal.getsignal(number) not in (_signal.SIG_DFL, 0):
        return
    pid = os.getpid()
    path = "%s/%d.dump" % (folder, pid)  # noqa: UP031 - also for a Python that knows no f-strings
    low = os.open(
        path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600
    )
    fd = _moved_up(low)  # type: ignore[no-untyped-call]
    head = ("holdfast stacks by signal %d\n" % number).encode()  # noqa: UP031
    if not os.fstat(fd).st_size:
        os.write(fd, head)
    faulthandler.register(number, file=fd, all_threads=True, chain=False)
    atexit.register(_tidy, path, pid, len(head))


def _moved_up(low):  # type: ignore[no-untyped-def]
    """The same file under a higher number, where there is one free."""
    try:
        os.fstat(_FD)
    except OSError:
        try:
            os.dup2(low, _FD, inheritable=False)
        except OSError:  # so many files it may not open
            return low
        os.close(low)
        return _FD
    return low


def _tidy(path, pid, empty):  # type: ignore[no-untyped-def]
    """Leave no file of a program that was never asked."""
    try:
        if os.getpid() == pid and os.stat(path).st_size <= empty:  # noqa: PTH116
            os.unlink(path)  # noqa: PTH108
    except Exception:  # noqa: BLE001 - never in the task's way
        pass


class _Alone:
    """Finds `holdfast` when nobody else does: what a program of the user may call, no more."""

    @classmethod
    def find_spec(cls, name, path=None, target=None):  # type: ignore[no-untyped-def]
        if name != "holdfast":
            return None
        from importlib.util import spec_from_file_location  # noqa: PLC0415

        return spec_from_file_location(
            name, _IN_TASK + "/__init__.py", submodule_search_locations=[_IN_TASK]
        )


def _said(kind, error, trace):  # type: ignore[no-untyped-def]
    """As without us; then what it was, for the post-mortem."""
    sys.__excepthook__(kind, error, trace)
    for name in ("holdfast.in_task.last_words", "holdfast.last_words"):  # installed, or alone
        try:
            __import__(name)
        except ImportError:
            continue
        sys.modules[name].write(error)
        return


def _excepthook(kind, error, trace):  # type: ignore[no-untyped-def]
    try:
        _said(kind, error, trace)  # type: ignore[no-untyped-call]
    except Exception:  # noqa: BLE001 - its own end is what counts
        pass


def _guard_hdf5():  # type: ignore[no-untyped-def]
    """As the user asked for; who believes to be guarded and is not must hear of it."""
    try:
        from importlib.util import module_from_spec, spec_from_file_location  # noqa: PLC0415

        path = os.path.dirname(_IN_TASK) + "/rows/guard.py"  # noqa: PTH120
        spec = spec_from_file_location("_holdfast_guard", path)
        guard = module_from_spec(spec)  # type: ignore[arg-type]
        sys.modules["_holdfast_guard"] = guard
        spec.loader.exec_module(guard)  # type: ignore[union-attr]
        guard.install_on_import()
    except Exception as error:  # noqa: BLE001 - never in the task's way
        sys.stderr.write("holdfast: h5py is not guarded: %r\n" % (error,))  # noqa: UP031


def _begin():  # type: ignore[no-untyped-def]
    folder = os.environ.get("HOLDFAST_STACKS_DIR", "")
    try:
        if folder.startswith("/"):
            _arm(folder)  # type: ignore[no-untyped-call]
    except Exception:  # noqa: BLE001 - never in the task's way
        pass
    sys.meta_path.append(_Alone)
    if os.environ.get("HOLDFAST_GUARD_HDF5") == "1":
        _guard_hdf5()  # type: ignore[no-untyped-call]
    if os.environ.get("HOLDFAST_IN_TASK_DIR", "").startswith("/"):
        sys.excepthook = _excepthook


if __name__ == "sitecustomize":
    _begin()  # type: ignore[no-untyped-call]
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or ".") != _FOLDER]  # noqa: PTH100
    _ours = sys.modules.pop("sitecustomize")
    try:
        import sitecustomize  # type: ignore[import-not-found]  # noqa: F401 - the user's own
    except ImportError as error:
        if getattr(error, "name", "sitecustomize") != "sitecustomize":
            raise
    finally:
        sys.modules.setdefault("sitecustomize", _ours)

"""Who writes where in a log directory that all tasks share."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from typing import NamedTuple

from . import fencing, place


class LogPlaces(NamedTuple):
    """Where this task reads and writes. All but the chief keep their checkpoints to themselves."""

    checkpoints: str  # to write: the shared one for the chief, a folder that vanishes for others
    restore_from: str  # to read: the shared one, for everybody
    summaries: str  # to write: of this task alone
    is_chief: bool


def logdir(base: str | os.PathLike[str]) -> LogPlaces:
    """The places below `base` for this task, by its TF_CONFIG; without one it is the chief.

    With MultiWorkerMirroredStrategy every worker must save, for saving is done together, and
    only one of them may write the files: so the others get a folder of their own, removed at
    their end. An evaluator reads what the chief writes.
    Outdated, if this process belongs to an attempt that a newer one has taken the place of.
    """
    fencing.check()
    root = os.fspath(base).rstrip("/") or "/"
    shared = root + "/checkpoints"
    task = place.task()
    chief = place.is_chief()
    return LogPlaces(
        checkpoints=shared if chief else _private(task),
        restore_from=shared,
        summaries="{}/summaries/{}".format(root, task.replace(":", "-") or "alone"),
        is_chief=chief,
    )


_privates: dict[str, str] = {}


def _private(task: str) -> str:
    """One a process, on this host, that nobody else may enter."""
    if task not in _privates:
        prefix = f"holdfast-{place.file_stem(task)}-"
        _privates[task] = tempfile.mkdtemp(prefix=prefix)
        atexit.register(_remove, _privates[task], os.getpid())
    return _privates[task]


def _remove(folder: str, pid: int) -> None:
    if os.getpid() == pid:  # not in a child that was forked from it
        shutil.rmtree(folder, ignore_errors=True)

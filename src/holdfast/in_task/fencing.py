"""Whether this process may still write for its job: not once a newer attempt has begun.

A task that was given up may only have been cut off or stopped. When it comes back, another one
trains in its place. So each attempt holds the file `fences/job` of the run directory, and who
writes shares a lock on it: the next attempt waits for the end of a write that is under way.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager

from . import place

FENCE = "fences/job"  # as holdfast.logdir.fence has it
RECORD_BYTES_MAX = 256
LOCK_S_MAX = 5.0  # who advances the fence is done in no time
LOOK_AGAIN_S = 0.02


class Outdated(RuntimeError):  # noqa: N818 - reads as what it says
    """A newer attempt of this job writes by now."""


@contextmanager
def may_write() -> Iterator[None]:
    """While this goes on, no newer attempt begins; Outdated, if one has.

    Outside of `holdfast run`, and where no fence can be read, everybody may.
    """
    fd = _opened()
    try:
        if fd >= 0:
            _share(fd)
            _check(_attempt_in(fd))
        yield
    finally:
        if fd >= 0:
            os.close(fd)


def check() -> None:
    """Outdated, if a newer attempt has begun; the answer may be old by the time it is used."""
    fd = _opened()
    if fd >= 0:
        try:
            _check(_attempt_in(fd))
        finally:
            os.close(fd)


def _check(held: int) -> None:
    own = place.attempt()
    if held > own:
        raise Outdated(
            f"attempt {own} of this job may not write any more: attempt {held} has begun;"
            " end this process"
        )


def _opened() -> int:
    """The fence of this run; -1: there is none."""
    folder = place.folder()
    if not folder:
        return -1
    path = f"{os.path.dirname(folder)}/{FENCE}"  # noqa: PTH120 - no pathlib here
    try:
        return os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return -1


def _share(fd: int) -> None:
    """Without locks, the question is all there is."""
    until_s = time.monotonic() + LOCK_S_MAX
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= until_s:
                return
            time.sleep(LOOK_AGAIN_S)
        except OSError:
            return
        else:
            return


def _attempt_in(fd: int) -> int:
    """Which attempt may write; 0: what stands there is no fence, and guards nothing."""
    try:
        found = json.loads(os.pread(fd, RECORD_BYTES_MAX, 0))["attempt"]
        return found if isinstance(found, int) else 0
    except (OSError, ValueError, TypeError, KeyError):
        return 0

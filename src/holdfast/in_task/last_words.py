"""What a program said of its own end, as a file: the exception, its stack and how far it was."""

from __future__ import annotations

import os
import sys
import threading
from typing import Any

from . import place, records

FORMAT = "holdfast-last-words/1"
THREADS_TOLD_MAX = 8  # exceptions of threads that are kept; the main thread's always is

_threads_told = 0
_before: Any = None


def write(error: BaseException, *, thread: str = "") -> str:
    """Where it was written; empty: nowhere. The main thread's end is written over a thread's."""
    folder = place.folder()
    if not folder:
        return ""
    record = records.stamped(
        format=FORMAT,
        thread=thread or "MainThread",
        step=_last_step(),
        finding=records.newest_finding(),
        **records.error_record(error),
    )
    part = f".thread-{_threads_told}" if thread else ""
    name = f"{place.file_stem(place.task())}.{os.getpid()}{part}.last-words.json"
    return records.write_whole(folder, name, record)


def watch_threads() -> None:
    """From here on an exception that ends a thread is written down, too."""
    global _before  # noqa: PLW0603 - there is one hook a process
    if _before is not None or not place.folder():
        return
    _before = getattr(threading, "excepthook", None)
    if _before is None:  # before Python 3.8
        records.complain(
            "what ends a thread is not written down (Python {}.{} has no threading.excepthook);"
            " all else works".format(*sys.version_info[:2])
        )
        return
    threading.excepthook = _ended


def _ended(args: Any) -> None:
    global _threads_told  # noqa: PLW0603
    _before(args)
    if args.exc_value is None or _threads_told >= THREADS_TOLD_MAX:
        return
    if issubclass(args.exc_type, SystemExit):
        return
    _threads_told += 1
    try:
        write(args.exc_value, thread=getattr(args.thread, "name", "") or "unnamed")
    except Exception:  # noqa: BLE001 - a thread's end must not end more than that
        pass


def _last_step() -> int | None:
    """The newest that was told, if anything ever was."""
    telling = sys.modules.get(__name__.rpartition(".")[0] + ".telling")
    return telling.teller().last_step if telling is not None else None

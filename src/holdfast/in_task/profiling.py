"""Records a trace of TensorFlow's profiler when somebody asks for one; the training goes on.

The question is a file beside our socket: whoever tells steps looks for it as rarely as it tells,
and takes it by renaming it. The answer is a file, too, once the trace is written.
"""

from __future__ import annotations

import atexit
import json
import os
import sys
import threading
from collections.abc import Callable
from typing import Any

from . import place, records

SECONDS_MIN, SECONDS_MAX = 0.1, 60.0
REQUEST_BYTES_MAX = 1_024
NAME_LENGTH_MAX = 32
END_S_MAX = 10.0  # that a program's end may wait for a trace to be written
FOLDER = "profile"  # of the run directory

_busy = threading.Lock()
_ends = threading.Event()


def request_path(folder: str, task: str) -> str:
    return f"{folder}/{FOLDER}.{place.file_stem(task)}.request.json"


def begin(folder: str, task: str, last_step: Callable[[], int | None]) -> None:
    """Take the question, and record in a thread of its own; nothing here raises."""
    try:
        path = request_path(folder, task)
        taken = f"{path}.{os.getpid()}"
        os.rename(path, taken)  # noqa: PTH104 - of several processes of a task, one gets it
        try:
            with open(taken, "rb") as file:  # noqa: PTH123
                asked = json.loads(file.read(REQUEST_BYTES_MAX))
        finally:
            os.unlink(taken)  # noqa: PTH108
        name, seconds = str(asked["id"]), float(asked["seconds"])
        if not name.isalnum() or len(name) > NAME_LENGTH_MAX:
            return
        seconds = min(max(seconds, SECONDS_MIN), SECONDS_MAX)
        work = (folder, task, name, seconds, last_step)
        thread = threading.Thread(target=_record, args=work, name="holdfast-profile", daemon=True)
        thread.start()
        atexit.register(_end, thread)
    except Exception as error:  # noqa: BLE001 - never in the training's way
        records.complain(f"no trace could be recorded: {error!r}"[:400])


def _record(
    folder: str, task: str, name: str, seconds: float, last_step: Callable[[], int | None]
) -> None:
    stem = place.file_stem(task)
    target = f"{os.path.dirname(folder)}/{FOLDER}/{stem}"  # noqa: PTH120
    said: dict[str, Any] = {"folder": target, "seconds": seconds, "from_step": last_step()}
    if not _busy.acquire(blocking=False):
        said["error"] = "another trace is being recorded"
    else:
        try:
            _trace(target, seconds)
        except Exception as error:  # noqa: BLE001 - told to whoever has asked
            said["error"] = records.text_of(error)[:400] or type(error).__name__
        finally:
            _busy.release()
    answer = records.stamped(**said, to_step=last_step())
    records.write_whole(folder, f"{FOLDER}.{stem}.{name}.answer.json", answer)


def _trace(target: str, seconds: float) -> None:
    tensorflow = sys.modules.get("tensorflow")
    if tensorflow is None:
        raise RuntimeError("this process has not loaded TensorFlow")
    os.makedirs(target, mode=0o700, exist_ok=True)  # noqa: PTH103
    tensorflow.profiler.experimental.start(target)
    try:
        _ends.wait(seconds)
    finally:
        tensorflow.profiler.experimental.stop()


def _end(thread: threading.Thread) -> None:
    """The program ends: what was recorded so far is written."""
    _ends.set()
    thread.join(END_S_MAX)

"""What a task leaves behind for the post-mortem: small JSON files, whole or not there."""

from __future__ import annotations

import json
import os
import sys
import time
import traceback
from typing import TYPE_CHECKING, Any

from . import place
from .hdf5_files import hdf5_file
from .secrets_out import without_secrets

if TYPE_CHECKING:
    from types import TracebackType

FRAMES_MAX, FRAME_LENGTH_MAX = 60, 400
MESSAGE_LENGTH_MAX = 4_000
CAUSES_MAX = 8
RECORD_BYTES_MAX = 256 << 10
FINDINGS_BYTES_MAX = 64 << 10


def stamped(**more: Any) -> dict[str, Any]:
    """Who, where and when, before what."""
    now_s = time.time()
    iso = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now_s))
    about = {
        "task": place.task(),
        "attempt": place.attempt(),
        "host": os.uname().nodename,
        "pid": os.getpid(),
        "at": f"{iso}.{int(now_s * 1000) % 1000:03d}Z",
    }
    return {**about, **more}


def error_record(error: BaseException) -> dict[str, Any]:
    """An exception with its stack, its notes, and what it came from."""
    found = _one(error)
    found["from"] = [_one(cause) for cause in _causes(error)]
    file, mode = hdf5_file(error.__traceback__)
    found["file"], found["mode"] = without_secrets(file)[:FRAME_LENGTH_MAX], mode[:8]
    return found


def _one(error: BaseException) -> dict[str, Any]:
    kind = type(error)
    return {
        "exception": f"{kind.__module__}.{kind.__qualname__}"[:200],
        "message": text_of(error),
        "frames": frames(error.__traceback__),
        "notes": [_note(note) for note in getattr(error, "__notes__", ())][:10],
    }


def _note(note: Any) -> str:
    return without_secrets(str(note)[:MESSAGE_LENGTH_MAX])


def text_of(error: BaseException) -> str:
    """What it says; an exception may fail even at that."""
    try:
        return without_secrets(_both_ends(str(error)))
    except Exception as other:  # noqa: BLE001
        return f"(its text cannot be had: {type(other)!r})"


def _both_ends(text: str) -> str:
    """TensorFlow tells at length where a graph was made, and only then what went wrong."""
    if len(text) <= MESSAGE_LENGTH_MAX:
        return text
    half = MESSAGE_LENGTH_MAX // 2
    return text[:half] + "\n...\n" + text[5 - half :]


def _causes(error: BaseException) -> list[BaseException]:
    found: list[BaseException] = []
    seen = {id(error)}
    inner = _cause(error)
    while inner is not None and id(inner) not in seen and len(found) < CAUSES_MAX:
        seen.add(id(inner))
        found.append(inner)
        inner = _cause(inner)
    return found


def _cause(error: BaseException) -> BaseException | None:
    """What it was raised over; of a group, the first of those that it holds."""
    members = getattr(error, "exceptions", ())
    if isinstance(members, tuple) and members and isinstance(members[0], BaseException):
        return members[0]
    return error.__cause__ or (None if error.__suppress_context__ else error.__context__)


def frames(trace: TracebackType | None) -> list[str]:
    """As file:line function: code, the outermost first; of very many, both ends."""
    lines = [_frame(one) for one in traceback.extract_tb(trace)]
    if len(lines) > FRAMES_MAX:
        half = FRAMES_MAX // 2
        lines = [*lines[:half], f"... {len(lines) - 2 * half} more", *lines[-half:]]
    return lines


def _frame(one: traceback.FrameSummary) -> str:
    code = f": {one.line}" if one.line else ""  # of some there is no source
    return without_secrets(f"{one.filename}:{one.lineno} {one.name}{code}"[:FRAME_LENGTH_MAX])


def write_whole(folder: str, name: str, record: dict[str, Any]) -> str:
    """Under its name as a whole, or not at all: the path, empty where it could not be written."""
    path = folder + "/" + name
    half = f"{folder}/.{name}.{os.getpid()}.{time.monotonic_ns()}"
    try:
        content = json.dumps(record, default=str).encode()
        fd = os.open(half, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        try:
            while content:
                content = content[os.write(fd, content) :]
        finally:
            os.close(fd)
        os.rename(half, path)  # noqa: PTH104 - no pathlib here
    except (OSError, TypeError, ValueError):
        _remove(half)
        return ""
    return path


def add_line(folder: str, name: str, record: dict[str, Any]) -> str:
    """One more line of a file that only this process writes."""
    path = folder + "/" + name
    try:
        line = json.dumps(record, default=str).encode()[:RECORD_BYTES_MAX] + b"\n"
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
        fd = os.open(path, flags, 0o600)
        try:
            os.write(fd, line)
        finally:
            os.close(fd)
    except (OSError, TypeError, ValueError):
        return ""
    return path


def _remove(path: str) -> None:
    try:
        os.unlink(path)  # noqa: PTH108
    except OSError:
        pass


def newest_finding() -> str:
    """What Holdfast has found of this job so far, in one sentence; empty: nothing."""
    try:
        with open(os.path.dirname(place.folder()) + "/findings.jsonl", "rb") as file:  # noqa: PTH120, PTH123
            size = os.fstat(file.fileno()).st_size
            file.seek(max(0, size - FINDINGS_BYTES_MAX))
            lines = file.read().splitlines()
        found = json.loads(lines[-1])
        return "{} ({})".format(found["says"], found["cause"])[:MESSAGE_LENGTH_MAX]
    except (OSError, ValueError, LookupError, TypeError):
        return ""


def complain(sentence: str) -> None:
    """On standard error, for whoever reads the task's log."""
    try:
        sys.stderr.write("holdfast: " + sentence + "\n")
        sys.stderr.flush()
    except Exception:  # noqa: BLE001 - a closed or full stream is not our business here
        pass

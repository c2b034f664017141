"""The file `checkpoint`, in which TensorFlow keeps which one is the newest."""

import os
from collections import defaultdict
from contextlib import suppress
from pathlib import Path

from holdfast.logdir.private_files import write_errors
from holdfast.model.pattern import Pattern

STATE, KEPT = "checkpoint", "checkpoint.before-holdfast"
STATE_BYTES_MAX = 1 << 20
_LINE = Pattern(
    r"^\s*(all_model_checkpoint_paths|all_model_checkpoint_timestamps|model_checkpoint_path"
    r"|last_preserved_timestamp):\s*\"?([^\"\\]+?)\"?\s*$"
)


def read_state(folder: Path) -> list[str]:
    """The names that it lists, oldest first; the last is what TensorFlow restores by itself.

    Nothing, where there is no such file or nobody can read it.
    """
    known = _fields(folder)
    last = [_name(path) for path in known["model_checkpoint_path"][-1:]]
    names = dict.fromkeys(map(_name, known["all_model_checkpoint_paths"]))
    return [*(name for name in names if name not in last), *last]


def _fields(folder: Path) -> dict[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for line in _text(folder).splitlines():
        field = _LINE.search(line)
        if field is not None:
            found[field.group(1)].append(field.group(2))
    return found


def _name(path: str) -> str:
    return path.rpartition("/")[2]


def _text(folder: Path) -> str:
    try:
        with (folder / STATE).open("rb") as file:
            return file.read(STATE_BYTES_MAX).decode(errors="replace")
    except OSError:
        return ""


def write_state(folder: Path, names: list[str]) -> None:
    """List these, oldest first: TensorFlow restores the last. The old list is kept beside it."""
    if any('"' in name or "\\" in name or "\n" in name for name in names):
        raise ValueError(f"no checkpoint is named so: {names!r}")
    lines = [f'model_checkpoint_path: "{names[-1]}"']
    lines += [f'all_model_checkpoint_paths: "{name}"' for name in names]
    lines += _times(folder, names)
    with write_errors(str(folder / STATE)):
        before = _text(folder)
        if before and not (folder / KEPT).exists():
            _replace(folder, KEPT, before)
        _replace(folder, STATE, "\n".join(lines) + "\n")


def _times(folder: Path, names: list[str]) -> list[str]:
    """A CheckpointManager forgets whatever is listed without its time."""
    known = _fields(folder)
    paths = map(_name, known["all_model_checkpoint_paths"])
    times = dict(zip(paths, known["all_model_checkpoint_timestamps"], strict=False))
    if not times.keys() >= set(names):
        return []
    lines = [f"all_model_checkpoint_timestamps: {times[name]}" for name in names]
    return lines + [f"last_preserved_timestamp: {s}" for s in known["last_preserved_timestamp"]]


def _replace(folder: Path, name: str, text: str) -> None:
    """As a whole: a reader sees the old content or the new."""
    half = folder / f".{name}.{os.urandom(4).hex()}"
    try:
        with half.open("x") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        half.replace(folder / name)
    except BaseException:
        with suppress(OSError):
            half.unlink()
        raise

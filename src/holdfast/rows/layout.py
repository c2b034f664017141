"""Where things lie below LOGDIR/rows, and how names become folders without being paths."""

import json
import os
import secrets
import string
from pathlib import Path
from typing import Any

from holdfast.rows.errors import Refused, RowsError, unwritable

FORMAT = "holdfast-rows/1"
CENTRAL = "central"
INDEX = "index.h5"
INCARNATIONS_MAX = 99_999_999
_FORMAT_FILE = "format.json"
_SOURCE_FILE = "source.json"
_NAME_CHARS_MAX = 64
_INDEX_MAX = 999_999
_PARTS_MAX = 8
_JSON_BYTES_MAX = 1 << 16
_PLAIN = frozenset(string.ascii_letters + string.digits + "_")
_LETTERS = frozenset(string.ascii_letters)
_DIGITS = frozenset(string.digits)
_PART = _PLAIN | {".", "-"}


def rows_folder(logdir: str | os.PathLike[str]) -> Path:
    return Path(logdir) / "rows"


def task_folder(task: str) -> str:
    """The beginning of the folder names of this task: "worker:3" lies in worker-3.NNNN."""
    role, colon, index = task.partition(":")
    if colon:
        if _is_role(role) and _is_index(index):
            return f"{role}-{index}"
    elif _is_plain(role):
        return role
    raise Refused(
        f"{task!r:.80} is no name of a task",
        do='use role:index like "worker:3", or up to 64 letters, digits and underscores',
    )


def task_of_folder(name: str) -> tuple[str, int] | None:
    """Task and incarnation of a folder name; None: not one of ours."""
    prefix, _, number = name.rpartition(".")
    if len(number) < 4 or not set(number) <= _DIGITS or int(number) > INCARNATIONS_MAX:  # noqa: PLR2004
        return None
    role, dash, index = prefix.partition("-")
    task = f"{role}:{index}" if dash else role
    try:
        return (task, int(number)) if task_folder(task) == prefix else None
    except Refused:
        return None


def task_order(task: str) -> tuple[str, int]:
    """Sorts tasks by role, then by index as a number."""
    role, _, index = task.partition(":")
    return role, int(index) if index else -1


def check_dataset_name(name: str) -> None:
    """Refuses what is no name of a dataset."""
    parts = name.split("/") if isinstance(name, str) else []
    if 0 < len(parts) <= _PARTS_MAX and all(map(_is_part, parts)):
        return
    raise Refused(
        f"{name!r:.80} is no name of a dataset",
        do="use up to 8 parts of letters, digits, '_', '.' and '-', joined by '/', "
        "none of them '.' or '..' or beginning with '_holdfast'",
    )


def log_name(number: int) -> str:
    return f"{number:06d}.log"


def segment_name(number: int) -> str:
    return f"{number:06d}.h5"


def part_number(name: str, suffix: str) -> int | None:
    """The number in 000001.log or 000001.h5; None: another file."""
    stem = name.removesuffix(suffix)
    if stem == name or len(stem) < 6 or len(stem) > 9 or not set(stem) <= _DIGITS:  # noqa: PLR2004
        return None
    return int(stem)


def prepare(logdir: str | os.PathLike[str]) -> Path:
    """LOGDIR/rows, made and marked with its format if it is new."""
    folder = rows_folder(logdir)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not (folder / _FORMAT_FILE).exists():
            _publish_exclusively(folder / _FORMAT_FILE, {"format": FORMAT})
    except OSError as error:
        raise unwritable(folder, error) from error
    check_format(folder)
    return folder


def check_format(folder: Path) -> None:
    """Refuses a rows folder that was written by another version. None yet is fine."""
    found = read_json(folder / _FORMAT_FILE)
    if found and found.get("format") != FORMAT:
        raise RowsError(
            f"{folder} is of format {found.get('format')!r:.80}, not {FORMAT}",
            do="use the version of Holdfast that wrote it, or another log directory",
        )


def make_source(
    folder: Path, task: str, about: dict[str, Any], *, claimed: int | None = None
) -> tuple[Path, int]:
    """A new folder for one incarnation of this task; its number was never used before.

    `claimed`: exactly this one, which was given to us elsewhere.
    """
    prefix = task_folder(task)
    try:
        incarnation = claimed or last_incarnation(folder, task) + 1
        while incarnation <= INCARNATIONS_MAX:
            made = folder / f"{prefix}.{incarnation:04d}"
            try:
                made.mkdir()
            except FileExistsError:
                if claimed:
                    raise
                incarnation += 1
                continue
            about = {"task": task, "incarnation": incarnation, **about}
            _publish_exclusively(made / _SOURCE_FILE, about)
            return made, incarnation
    except OSError as error:
        raise unwritable(folder, error) from error
    raise Refused(f"{task} has no incarnations left in {folder}", do="use a new log directory")


def last_incarnation(folder: Path, task: str) -> int:
    found = (task_of_folder(entry.name) for entry in os.scandir(folder))
    return max((item[1] for item in found if item and item[0] == task), default=0)


def read_source(folder: Path) -> dict[str, Any]:
    """What source.json says; empty if the writer died before it was there."""
    return read_json(folder / _SOURCE_FILE)


def read_json(path: Path) -> dict[str, Any]:
    """The object in a small file of ours; empty if there is none."""
    try:
        with path.open("rb") as file:
            text = file.read(_JSON_BYTES_MAX)
        found = json.loads(text)
    except FileNotFoundError:
        return {}
    except (ValueError, RecursionError) as error:
        raise RowsError(f"{path} is not JSON", do="restore it, or remove it if empty") from error
    except OSError as error:
        raise RowsError(f"cannot read {path}: {error.strerror}", do="look at the disk") from error
    return found if isinstance(found, dict) else {}


def sync_folder(folder: Path) -> None:
    """What was created in the folder outlives a power cut."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def temporary_name(name: str) -> str:
    return f".{name}.{secrets.token_hex(8)}.tmp"


def _publish_exclusively(path: Path, content: dict[str, Any]) -> None:
    """Readers see the whole file or none; whoever is second changes nothing."""
    temporary = path.with_name(temporary_name(path.name))
    with temporary.open("x") as file:
        file.write(json.dumps(content) + "\n")
        file.flush()
        os.fsync(file.fileno())
    try:
        os.link(temporary, path)
    except FileExistsError:
        pass
    except OSError:  # a file system without hard links: the names in the folder are ours anyway
        temporary.replace(path)
        return
    temporary.unlink(missing_ok=True)


def _is_plain(text: str) -> bool:
    return 0 < len(text) <= _NAME_CHARS_MAX and set(text) <= _PLAIN


def _is_role(text: str) -> bool:
    return _is_plain(text) and text[0] in _LETTERS


def _is_index(text: str) -> bool:
    return 0 < len(text) <= 6 and set(text) <= _DIGITS and str(int(text)) == text  # noqa: PLR2004


def _is_part(text: str) -> bool:
    return (
        0 < len(text) <= _NAME_CHARS_MAX
        and set(text) <= _PART
        and text not in {".", ".."}
        and not text.startswith("_holdfast")
    )

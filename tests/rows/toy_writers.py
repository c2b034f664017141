"""Small writers of plain lines, one right and the others wrong: does the crash layer tell them?"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bench.rows.warm import Tell

BATCHES = 12
NAME = "toy"


def right(root: Path, options: Mapping[str, Any], tell: Tell) -> None:
    """Written and synced, name and bytes, before it is acknowledged."""
    fd = _created(root)
    _sync(root / "job")
    for batch in range(BATCHES):
        os.write(fd, _line(batch))
        os.fdatasync(fd)
        tell({"ack": [batch, [NAME]]})


def says_so_before_it_writes(root: Path, options: Mapping[str, Any], tell: Tell) -> None:
    fd = _created(root)
    _sync(root / "job")
    for batch in range(BATCHES):
        tell({"ack": [batch, [NAME]]})
        os.write(fd, _line(batch))
        os.fdatasync(fd)


def never_syncs(root: Path, options: Mapping[str, Any], tell: Tell) -> None:
    """Outlives a kill, but no power cut."""
    fd = _created(root)
    for batch in range(BATCHES):
        os.write(fd, _line(batch))
        tell({"ack": [batch, [NAME]]})


def forgets_the_folder(root: Path, options: Mapping[str, Any], tell: Tell) -> None:
    """The bytes are on the disk, and no name leads to them."""
    fd = _created(root)
    for batch in range(BATCHES):
        os.write(fd, _line(batch))
        os.fdatasync(fd)
        tell({"ack": [batch, [NAME]]})


def writes_anew_in_place(root: Path, options: Mapping[str, Any], tell: Tell) -> None:
    """Empties the file and writes all of it again: a kill in between leaves nothing."""
    lines = b""
    for batch in range(BATCHES):
        lines += _line(batch)
        (root / "job/toy.txt").write_bytes(lines)
        tell({"ack": [batch, [NAME]]})


def replaces_by_rename(root: Path, options: Mapping[str, Any], tell: Tell) -> None:
    """The same, whole at every moment."""
    lines = b""
    for batch in range(BATCHES):
        lines += _line(batch)
        draft = root / "job/.toy.tmp"
        with draft.open("wb") as file:
            file.write(lines)
            file.flush()
            os.fsync(file.fileno())
        draft.rename(root / "job/toy.txt")
        _sync(root / "job")
        tell({"ack": [batch, [NAME]]})


def repeats_what_failed(root: Path, options: Mapping[str, Any], tell: Tell) -> None:
    """Tries again after any error, even when the bytes had been written: rows come twice."""
    fd = _created(root)
    for batch in range(BATCHES):
        while True:
            try:
                os.write(fd, _line(batch))
                os.fdatasync(fd)
            except OSError:
                continue
            break
        tell({"ack": [batch, [NAME]]})


def recover(root: Path, options: Mapping[str, Any], tell: Tell) -> None:
    """Reads the whole lines back; what is cut off at the end was never acknowledged."""
    path = root / "job/toy.txt"
    lines = path.read_bytes().split(b"\n")[:-1] if path.exists() else []
    found = [int(line.split(b" ")[0]) for line in lines if line.endswith(b" end")]
    lost = set(options["acknowledged"].get(NAME, ())) - set(found)
    if lost:
        tell({"wrong": f"{len(lost)} lost"})
    if found != sorted(set(found)):
        tell({"wrong": "doubled"})


def _created(root: Path) -> int:
    return os.open(root / "job/toy.txt", os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_APPEND, 0o600)


def _line(batch: int) -> bytes:
    return f"{batch} {'row ' * 50}end\n".encode()


def _sync(folder: Path) -> None:
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    os.fsync(fd)
    os.close(fd)

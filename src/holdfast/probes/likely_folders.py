"""Folders that a program may write to, before it was seen to: its own one, and those it names.

Nothing is touched but this host's own file systems, and no link is followed: what lies behind it
may be a file server that never answers.
"""

import os
import stat
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from holdfast.model.mounts import mount_in
from holdfast.probes import LOCAL, mountinfo

NAMES_MAX = 1_000  # of one folder
WORDS_MAX = 64  # of a command line
COMMAND_BYTES_MAX = 65_536
BELOW_MAX = 32  # folders below one
DEPTH_MAX = 3
# Where programs and their parts lie, and no results.
_NOT_THERE = frozenset({"bin", "include", "lib", "lib64", "node_modules", "site-packages", "venv"})


def named_folders(pid: int) -> list[str]:
    """Where a process works, and the folders and files on its command line, if they are there."""
    try:
        own = os.readlink(f"/proc/{pid}/cwd")  # noqa: PTH115 - as every look
        with Path(f"/proc/{pid}/cmdline").open("rb") as file:
            words = file.read(COMMAND_BYTES_MAX).decode(errors="surrogateescape").split("\0")
    except OSError:
        return []
    if len(words) <= 1:
        return []  # it has not begun, or has ended
    mounts = mountinfo()
    paths = (word.partition("=")[2] if word.startswith("-") else word for word in words[1:])
    named = [os.path.join(own, path) for path in islice(paths, WORDS_MAX) if "/" in path]  # noqa: PTH118
    folders = (_folder_at(os.path.normpath(path), mounts) for path in (own, *named))
    return [folder for folder in dict.fromkeys(folders) if folder]


def folders_below(folder: str) -> list[str]:
    """This one and those below it, the nearest first; not all of many."""
    mounts = mountinfo()
    found, nearest = [folder], [folder]
    for _ in range(DEPTH_MAX):
        nearest = [below for one in nearest for below in _subfolders(one, mounts)]
        found += nearest
        if len(found) > BELOW_MAX:
            break
    return found[:BELOW_MAX]


def names_in(folder: str) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return [entry.name for entry in islice(entries, NAMES_MAX)]
    except OSError:
        return []


def _subfolders(folder: str, mounts: str) -> Iterator[str]:
    if folder == "/":
        return
    try:
        with os.scandir(folder) as entries:
            for entry in islice(entries, NAMES_MAX):
                hidden = entry.name.startswith((".", "_")) or entry.name in _NOT_THERE
                is_folder = not hidden and entry.is_dir(follow_symlinks=False)
                if is_folder and _is_local(entry.path, mounts):
                    yield entry.path
    except OSError:
        return


def _folder_at(path: str, mounts: str) -> str:
    """The folder of this name, or that of the file; empty: neither is there, or behind a link."""
    at = Path(path)
    for part in (*reversed(at.parents), at):
        try:
            mode = os.lstat(part).st_mode if _is_local(str(part), mounts) else 0
        except OSError:
            return ""
        if part == at and stat.S_ISREG(mode):
            return str(at.parent)
        if not stat.S_ISDIR(mode):
            return ""
    return path


def _is_local(path: str, mounts: str) -> bool:
    mount = mount_in(mounts, path)
    return mount is not None and mount.kind in LOCAL

"""Files of which two writers are a fault, as the processes of a task have them open for writing.

Only descriptors and names are read, nothing behind them: a dead file server holds up nobody.
"""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from holdfast.model.pattern import Pattern

HDF5 = "HDF5"
SUMMARIES, CHECKPOINTS = "summaries", "checkpoints"
_EVENTS = "events.out.tfevents."
_NO_WRITER = (".profile-empty", " (deleted)")
# One part of one: whoever writes it takes itself for the only writer of this checkpoint. Without
# shards, TensorFlow writes it beside its place, under a name of its own.
_WHOLE = Pattern(r"_temp(?:_[0-9a-f]+)?/part-00000-of-00001\.|\.data-00000-of-00001\.tempstate\d+$")
_HDF5_NAMES = (".h5", ".hd5", ".hdf5", ".hdf", ".he5")
# Looked for in every path before any pattern is: most files of a process are none of these.
_RARE = ("tfevents", "_temp", ".tempstate")
_IN_FOLDER = Pattern(r"_temp(?:_[0-9a-f]+)?$|\.tempstate\d+$|^events\.out\.tfevents\.")
_ACCESS = 0o3


@dataclass(frozen=True, slots=True)
class WrittenFile:
    """A descriptor of a process that is open for writing."""

    pid: int
    descriptor: str
    path: str
    inode: int  # 0: this kernel does not tell
    locked: bool  # by flock, or by a lock of this open file, as of HDF5 or of our guard

    @property
    def is_hdf5(self) -> bool:
        return is_hdf5_name(self.path)


def written_files(pid: int, open_now: Iterable[tuple[str, str]]) -> Iterator[WrittenFile]:
    """Of what a process has open, the HDF5 files and those that make a folder one's own."""
    for number, path in open_now:
        if is_hdf5_name(path) or (any(word in path for word in _RARE) and folder_written(path)[0]):
            seen = seen_again(pid, number, path)
            if seen is not None:
                yield seen


def seen_again(pid: int, descriptor: str, path: str) -> WrittenFile | None:
    """A descriptor as it is now; None: it is not open for writing, or not on this file."""
    try:
        lines = Path(f"/proc/{pid}/fdinfo/{descriptor}").read_text().splitlines()
        if os.readlink(f"/proc/{pid}/fd/{descriptor}") != path:  # noqa: PTH115 - as every look
            return None
    except OSError:
        return None
    words = {line.partition(":")[0]: line.split() for line in lines}
    if int(words.get("flags", ("", "0"))[1], 8) & _ACCESS == os.O_RDONLY:
        return None
    inode = int(words.get("ino", ("", "0"))[1])
    return WrittenFile(pid, descriptor, path, inode, "lock" in words)


def folder_written(path: str) -> tuple[str, str]:
    """What a file open for writing would be a part of, and in which folder; or nothing of ours."""
    folder, _, name = path.rpartition("/")
    if name.startswith(_EVENTS) and not name.endswith(_NO_WRITER):
        return SUMMARIES, folder
    if not _WHOLE.search(path):
        return "", ""
    in_parts = name.startswith("part-")
    return CHECKPOINTS, folder.rpartition("/")[0] if in_parts else folder


def is_hdf5_name(path: str) -> bool:
    return path.lower().endswith(_HDF5_NAMES)


def is_worth_a_look(name: str) -> bool:
    """Whether what was made or closed in a folder may be one of these files."""
    return is_hdf5_name(name) or bool(_IN_FOLDER.search(name))

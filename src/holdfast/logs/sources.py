"""Which files are meant: paths, folders, patterns of names, standard input."""

import glob
import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from holdfast.logs.archive import is_archive_name

STANDARD_IN = "-"
FILES_MAX = 20_000
DEPTH_MAX = 32
NAMED_MAX = 3
SKIPPED_FOLDERS = frozenset({".git", ".hg", ".svn", "__pycache__", "node_modules", ".venv"})
_NO_LOGS = frozenset(
    (
        *(".py", ".pyc", ".pyi", ".ipynb", ".so", ".o", ".a", ".c", ".cc", ".cpp", ".h", ".hpp"),
        *(".js", ".css", ".html", ".md", ".rst", ".sh", ".proto", ".lock", ".whl"),
        *(".toml", ".yaml", ".yml", ".json", ".ini", ".cfg", ".csv", ".tsv", ".parquet"),
        *(".h5", ".hdf5", ".keras", ".pb", ".pbtxt", ".tflite", ".onnx", ".safetensors"),
        *(".tfrecord", ".tfrecords", ".npy", ".npz", ".pkl", ".pt", ".pth", ".ckpt", ".index"),
        *(".meta", ".png", ".jpg", ".jpeg", ".gif", ".svg", ".pdf", ".mp4", ".wav"),
        *(".db", ".sqlite", ".sqlite3"),
    )
)
_NO_LOGS_INSIDE = (".tfevents.", ".data-0")


@dataclass(frozen=True, slots=True)
class Source:
    """One log to read."""

    path: bytes  # empty: standard input
    name: str  # for people
    size: int  # 0 where nobody can know
    is_file: bool  # and so can be read from anywhere


@dataclass(slots=True)
class Listing:
    """What there is to read, in the order given; the files of a folder by name."""

    sources: list[Source] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    _files: set[tuple[int, int]] = field(default_factory=set)
    _folders: set[tuple[int, int]] = field(default_factory=set)
    _no_logs: list[str] = field(default_factory=list)
    _archives: list[str] = field(default_factory=list)
    _beyond: int = 0

    def add(self, path: str) -> None:
        """A path that somebody named: it is read, whatever its name."""
        if path == STANDARD_IN:
            if all(source.path for source in self.sources):
                self.sources.append(Source(b"", "standard input", 0, is_file=False))
            return
        matches = [path] if os.path.lexists(path) else _matches(path)
        if not matches:
            self.unknown.append(f"{name_of(path)}: there is no such file")
        for match in matches:
            try:
                about = Path(match).stat()
            except OSError as error:
                self.unknown.append(f"{name_of(match)}: {error.strerror}")
                continue
            if stat.S_ISDIR(about.st_mode):
                self._add_folder(match, about, depth=0)
            else:
                self._add_file(match, about)

    def close(self) -> None:
        """Say what was passed over."""
        if self._no_logs:
            few = _few(self._no_logs)
            self.unknown.append(f"not read, as their names are not those of logs: {few}")
        if self._archives:
            few = _few(self._archives)
            self.unknown.append(f"archives in a folder are read only when they are named: {few}")
        if self._beyond:
            self.unknown.append(f"{self._beyond:,} more files: at most {FILES_MAX:,} are read")

    def _add_folder(self, path: str, about: os.stat_result, *, depth: int) -> None:
        known = (about.st_dev, about.st_ino)
        if known in self._folders:  # a loop of links, or the same folder twice
            return
        self._folders.add(known)
        if depth > DEPTH_MAX:
            self.unknown.append(f"{name_of(path)}: more than {DEPTH_MAX} folders deep")
            return
        try:
            names = sorted(member.name for member in Path(path).iterdir())
        except OSError as error:
            self.unknown.append(f"{name_of(path)}: {error.strerror}")
            return
        for name in names:
            self._add_member(f"{path.rstrip(os.sep)}/{name}", name, depth=depth)

    def _add_member(self, path: str, name: str, *, depth: int) -> None:
        try:
            about = Path(path).stat()
        except OSError as error:
            self.unknown.append(f"{name_of(path)}: {error.strerror}")
            return
        if stat.S_ISDIR(about.st_mode):
            if name not in SKIPPED_FOLDERS:
                self._add_folder(path, about, depth=depth + 1)
        elif is_archive_name(name):
            self._archives.append(name_of(path))
        elif not stat.S_ISREG(about.st_mode) or is_no_log(name):
            self._no_logs.append(name_of(path))
        else:
            self._add_file(path, about)

    def _add_file(self, path: str, about: os.stat_result) -> None:
        known = (about.st_dev, about.st_ino)
        if known in self._files:
            return
        self._files.add(known)
        if len(self.sources) >= FILES_MAX:
            self._beyond += 1
            return
        is_file = stat.S_ISREG(about.st_mode)
        size = about.st_size if is_file else 0
        whole = os.fsencode(Path(path).absolute())
        self.sources.append(Source(whole, name_of(path), size, is_file=is_file))


def list_sources(paths: Sequence[str]) -> Listing:
    """Everything that the paths mean; what cannot be read is said in `unknown`."""
    listing = Listing()
    for path in paths:
        listing.add(path)
    listing.close()
    return listing


def name_of(path: str) -> str:
    """A name as text that can be shown and sent, whatever bytes it has."""
    return os.fsencode(path).decode("utf-8", "replace")


def _few(names: Sequence[str]) -> str:
    more = len(names) - NAMED_MAX
    return ", ".join(names[:NAMED_MAX]) + (f" and {more:,} more" if more > 0 else "")


def is_no_log(name: str) -> bool:
    lower = name.lower()
    return Path(lower).suffix in _NO_LOGS or any(part in lower for part in _NO_LOGS_INSIDE)


def _matches(pattern: str) -> list[str]:
    # Path.glob refuses patterns that begin at the root.
    return sorted(glob.glob(pattern, recursive=True))  # noqa: PTH207

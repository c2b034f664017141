"""The run directory: created once, never over anything else, and private to its owner."""

import errno
import json
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Self

from holdfast.logdir import private_files as private
from holdfast.logdir.private_files import read_errors, write_error, write_errors
from holdfast.model.cluster import TaskId, is_plain_name
from holdfast.model.errors import BadInput, HoldfastError, NotOurs, StorageFailed

RUN_FILE = "run.json"
LOGS = "logs"
STREAMS = ("out", "err")
JSON_BYTES_MAX = 64 << 20
_ROOM_PROVEN_BYTES = 1 << 20
_ROOM_PROBE = ".holdfast-probe"
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})


class RunDir:
    """An open run directory. Every file in it is reached through `fd`, following no link."""

    def __init__(self, path: Path, fd: int) -> None:
        self.path = path
        self.fd = fd

    def close(self) -> None:
        if self.fd >= 0:
            os.close(self.fd)
        self.fd = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def create_log(self, task: TaskId, attempt: int, stream: str) -> int:
        """A descriptor for a task's new output, to be given to the task."""
        return self._create(log_name(task, attempt, stream), os.O_WRONLY | os.O_APPEND)

    def open_log(self, task: TaskId, attempt: int, stream: str) -> int:
        """A descriptor to read a task's output from its first byte."""
        name = log_name(task, attempt, stream)
        with read_errors(self.place(name)), self._folder_of(name) as (dir_fd, last):
            return private.open_for_reading(last, dir_fd=dir_fd)

    def logs(self) -> list[tuple[TaskId, int, str]]:
        """The logs that are there: task, attempt, stream. Names that are not ours are ignored."""
        try:
            with read_errors(self.place(LOGS)), self._folder_of(f"{LOGS}/") as (dir_fd, _):
                entries = os.scandir(dir_fd)
                with entries:
                    names = [e.name for e in entries if e.is_file(follow_symlinks=False)]
        except HoldfastError as error:
            if isinstance(error.__cause__, FileNotFoundError):
                return []
            raise
        return sorted(log for name in names if (log := _parse_log_name(name)))

    def write_json(self, name: str, value: object) -> None:
        """Replace a file as a whole: a reader sees the old content or the new, never half."""
        text = json.dumps(value, indent=1, allow_nan=False)
        self.write_bytes(name, text.encode() + b"\n")

    def write_bytes(self, name: str, content: bytes) -> None:
        """As `write_json`, for content that is no JSON."""
        with write_errors(self.place(name)), self._folder_of(name) as (dir_fd, last):
            private.refuse_unless_plain(last, dir_fd=dir_fd)
            half = f".{last}.{os.urandom(4).hex()}"
            fd = private.create_file(half, flags=os.O_WRONLY, dir_fd=dir_fd)
            try:
                try:
                    private.write_whole(fd, content)
                    os.fsync(fd)
                finally:
                    os.close(fd)
                os.rename(half, last, src_dir_fd=dir_fd, dst_dir_fd=dir_fd)
            except BaseException:
                with suppress(OSError):  # what went wrong first is what matters
                    os.unlink(half, dir_fd=dir_fd)
                raise
            # The new content is in place; some network file systems cannot sync a folder.
            with suppress(OSError):
                os.fsync(dir_fd)

    def read_lines(self, name: str) -> list[bytes]:
        """The whole lines of a file that `append_line` wrote."""
        return self._read(name).split(b"\n")[:-1]

    def _read(self, name: str) -> bytes:
        with read_errors(self.place(name)), self._folder_of(name) as (dir_fd, last):
            fd = private.open_for_reading(last, dir_fd=dir_fd)
            with os.fdopen(fd, "rb") as file:
                return file.read(JSON_BYTES_MAX + 1)

    def read_json(self, name: str) -> object:
        content = self._read(name)
        if len(content) > JSON_BYTES_MAX:
            raise BadInput(
                f"{self.place(name)} has more than {size_text(JSON_BYTES_MAX)}",
                do="this is no file that Holdfast wrote: check the run directory",
            )
        try:
            value: object = json.loads(content)
        except (ValueError, RecursionError) as error:
            raise BadInput(
                f"{self.place(name)} is not JSON: {error}", do="was it cut, or edited by hand?"
            ) from error
        return value

    def append_line(self, name: str, line: bytes) -> None:
        """Add one line with one write; the file is made if it is not there."""
        if b"\n" in line:
            raise ValueError(f"one line at a time for {name}, without its end")
        with write_errors(self.place(name)), self._folder_of(name) as (dir_fd, last):
            fd = private.open_for_append(last, dir_fd=dir_fd)
            try:
                private.write_whole(fd, line + b"\n")
            finally:
                os.close(fd)

    def make_folder(self, name: str) -> None:
        """A folder directly in the run directory, if it is not there yet."""
        with write_errors(self.place(name)):
            try:
                private.make_folder(name, dir_fd=self.fd)
            except FileExistsError:
                os.close(private.open_folder_at(name, dir_fd=self.fd))

    def place(self, name: str) -> str:
        """A file of this run, as a message names it."""
        return str(self.path / name)

    def _create(self, name: str, flags: int) -> int:
        with write_errors(self.place(name)), self._folder_of(name) as (dir_fd, last):
            return private.create_file(last, flags=flags, dir_fd=dir_fd)

    @contextmanager
    def _folder_of(self, name: str) -> Iterator[tuple[int, str]]:
        """The descriptor of the folder that holds `name`, and the name's last part."""
        folder, _, last = name.rpartition("/")
        if not folder:
            yield self.fd, last
            return
        if "/" in folder or folder in {".", ".."}:
            raise ValueError(f"{name} is more than one folder deep")
        dir_fd = private.open_folder_at(folder, dir_fd=self.fd)
        try:
            yield dir_fd, last
        finally:
            os.close(dir_fd)


def log_name(task: TaskId, attempt: int, stream: str) -> str:
    """Where a task's output lies, seen from the run directory: logs/worker-0.1.err."""
    if stream not in STREAMS or not is_plain_name(task.role) or task.index < 0 or attempt < 0:
        raise ValueError(f"no log can be named after {task}, attempt {attempt}, {stream}")
    return f"{LOGS}/{task.role}-{task.index}.{attempt}.{stream}"


def _parse_log_name(name: str) -> tuple[TaskId, int, str] | None:
    try:
        who, attempt, stream = name.split(".")
        role, _, index = who.rpartition("-")
        log = (TaskId.parse(f"{role}:{index}"), int(attempt), stream)
        return log if log_name(*log) == f"{LOGS}/{name}" else None
    except (ValueError, BadInput):
        return None


def open_run_dir(path: Path) -> RunDir:
    """A run directory that is there already, to read it."""
    path = path.absolute()
    with read_errors(str(path)):
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        if _has_run_file(path, fd):
            return RunDir(path, fd)
        raise BadInput(
            f"{path} is not a run directory: it has no {RUN_FILE}",
            do="give the directory that `holdfast run` wrote to",
        )
    except HoldfastError:
        os.close(fd)
        raise


def _has_run_file(path: Path, fd: int) -> bool:
    with read_errors(str(path / RUN_FILE)), suppress(FileNotFoundError):
        return stat.S_ISREG(os.stat(RUN_FILE, dir_fd=fd, follow_symlinks=False).st_mode)
    return False


def create_run_dir(path: Path) -> RunDir:
    """A new run directory, proven to take files. Nothing that exists is changed or removed."""
    path = path.absolute()
    made: list[Path] = []
    try:
        _make_with_parents(path, made)
        fd = _open_ours(path, just_made=path in made)
        try:
            _refuse_unless_empty(path, fd)
            _prove_room(path, fd)
            # Of two runs that start here at the same moment, one makes this folder.
            with write_errors(str(path / LOGS)):
                private.make_folder(LOGS, dir_fd=fd)
        except BaseException:
            os.close(fd)
            raise
    except BaseException:
        for folder in reversed(made):
            with suppress(OSError):  # somebody else uses it by now: then it stays
                folder.rmdir()
        raise
    return RunDir(path, fd)


def _make_with_parents(path: Path, made: list[Path]) -> None:
    """Make what is missing of a path, and tell in `made` what that was, outermost first."""
    missing: list[Path] = []
    place = path
    try:
        while not _is_there(place):
            missing.append(place)
            place = place.parent
        for place in reversed(missing):
            with suppress(FileExistsError):  # another run made the same parent just now
                private.make_folder(str(place))
                made.append(place)
    except NotADirectoryError as error:
        raise NotOurs(
            f"cannot make {path}: one of its parents is a file", do="choose another run directory"
        ) from error
    except OSError as error:
        raise _refusal(error, path, doing=f"make {place}") from error


def _is_there(place: Path) -> bool:
    try:
        place.lstat()
    except FileNotFoundError:
        return False
    return True


def _open_ours(path: Path, *, just_made: bool) -> int:
    found = path.lstat()
    do = "choose another run directory"
    if stat.S_ISLNK(found.st_mode):
        raise NotOurs(f"{path} is a symbolic link", do=f"give the path it leads to, or {do}")
    if not stat.S_ISDIR(found.st_mode):
        raise NotOurs(f"{path} exists and is not a directory", do=do)
    with write_errors(str(path)):
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    found = os.fstat(fd)
    # Behind an NFS server that squashes root, what we have just made is not ours by number.
    if found.st_uid != os.geteuid() and not just_made:
        os.close(fd)
        raise NotOurs(f"{path} belongs to another user (uid {found.st_uid})", do=do)
    if found.st_mode & stat.S_IWOTH and not found.st_mode & stat.S_ISVTX:
        os.close(fd)
        raise NotOurs(f"{path} may be written by everybody", do=f"chmod o-w it, or {do}")
    return fd


def _refuse_unless_empty(path: Path, fd: int) -> None:
    with read_errors(str(path)):
        names = os.listdir(fd)
    if not names:
        return
    why = "it holds a run already" if RUN_FILE in names else "it has files that are not ours"
    raise NotOurs(f"{path} is not empty: {why}", do="choose a new or empty run directory")


def _prove_room(path: Path, fd: int) -> None:
    """Really write: neither free-space counters nor mode bits tell about quotas and mounts."""
    try:
        probe = private.create_file(_ROOM_PROBE, flags=os.O_WRONLY, dir_fd=fd)
        try:
            # Random, so that a file system that compresses needs the room too.
            private.write_whole(probe, os.urandom(_ROOM_PROVEN_BYTES))
            os.fsync(probe)
        finally:
            os.close(probe)
            os.unlink(_ROOM_PROBE, dir_fd=fd)
    except OSError as error:
        doing = f"write {size_text(_ROOM_PROVEN_BYTES)} to {path}"
        raise _refusal(error, path, doing=doing) from error


def _refusal(error: OSError, path: Path, *, doing: str) -> HoldfastError:
    if error.errno not in _FULL:
        return write_error(error, str(path))
    place = path
    while not place.exists():
        place = place.parent
    room = os.statvfs(place)
    free = f"{size_text(room.f_bavail * room.f_frsize)} free"
    if room.f_files and not room.f_favail:
        free += ", but no inode"
    return StorageFailed(
        f"cannot {doing}: {os.strerror(error.errno)} ({free})",
        do="free some space or raise the quota, or choose a run directory on another disk",
    )


def size_text(size_bytes: int) -> str:
    """A size as people write it: 64 KiB, 1.5 GiB."""
    amount = float(size_bytes)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if amount < 1024:  # noqa: PLR2004 - what these units count by
            return f"{amount:.3g} {unit}"
        amount /= 1024
    return f"{amount:.3g} TiB"

"""A log directory that is not a folder: what an object store or HDFS can do, through fsspec.

A file there is created once, whole and exclusively, and is never changed, appended to or moved
over another. All other promises rest on this one.
"""

import contextlib
import hashlib
import secrets
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar
from urllib.parse import urlsplit, urlunsplit

from holdfast.rows.errors import Missing, RowsError, Unwritable
from holdfast.rows.store_errors import store_error

ANSWER_S_MAX = 90.0
SMALL_BYTES_MAX = 64 << 20
_PIECE_BYTES = 4 << 20
_SHOWN_CHARS_MAX = 300

T = TypeVar("T")
Creates = Literal["exclusively", "by rename"]


@dataclass(frozen=True)
class Abilities:
    """What a kind of store can do. We use only how it `creates`; the rest is why."""

    appends: bool
    renames_atomically: bool
    creates: Creates


# s3fs appends by copying the object, and two who append lose rows; its rename is copy + delete.
_LIKE_S3 = Abilities(appends=False, renames_atomically=False, creates="exclusively")
# HDFS refuses to rename onto a file that is there. fsspec has no exclusive create for it.
_LIKE_HDFS = Abilities(appends=True, renames_atomically=True, creates="by rename")
_ABILITIES = {
    "hdfs": _LIKE_HDFS,
    "webhdfs": _LIKE_HDFS,
    "webHDFS": _LIKE_HDFS,
    "swebhdfs": _LIKE_HDFS,
}
# Where a rename meets a file, pyarrow deletes that file and renames again.
_REPLACES = "fsspec.implementations.arrow"
# For three minutes it would ask a name node that is not there; whoever uploads asks again anyway.
_OPTIONS = {"hdfs_native.fsspec": {"dfs.client.failover.max.attempts": "4"}}
# Here a folder is a part of a name, and s3fs takes the order to make one for a wish for a bucket.
_BUCKETS = frozenset({"s3", "s3a", "gs", "gcs", "abfs", "abfss", "az", "adl", "oci", "oss", "r2"})


def is_url(logdir: object) -> bool:
    return isinstance(logdir, str) and "://" in logdir


def abilities(protocol: str) -> Abilities:
    """What is known of a protocol. What is not known is taken to be like S3, the weakest."""
    return _ABILITIES.get(protocol, _LIKE_S3)


def shown(url: str) -> str:
    """The URL without its password, for messages and file names."""
    parts = urlsplit(url)
    place = parts.netloc.rpartition("@")[2] if parts.password else parts.netloc
    return urlunsplit((parts.scheme, place, parts.path, "", ""))[:_SHOWN_CHARS_MAX]


class Store:
    """One remote log directory. Names are relative to it: "rows/worker-3.0001/000001.h5"."""

    def __init__(self, url: str, options: Mapping[str, Any] | None = None) -> None:
        try:
            import fsspec.core  # noqa: PLC0415 - only who asks for a remote directory needs it
        except ImportError as error:
            raise Missing("remote", package="fsspec") from error
        self.url = url.rstrip("/")
        self.shown = shown(self.url)
        self.protocol = url.partition("://")[0]
        self.abilities = abilities(self.protocol)
        with self._told("reach"):
            given = {**self._own_options(), **(options or {})}
            self._fs, root = fsspec.core.url_to_fs(self.url, **given)
        self._root = str(root).rstrip("/")

    def probe(self, name: str, content: bytes) -> None:
        """Creates the file that marks a log directory, and sees that nobody can do so twice."""
        self.create(name, content)
        if self.create(name, content):
            raise RowsError(
                f"{self.shown} lets a file be created twice: writers could destroy each other's "
                "segments",
                do="use a store that honours If-None-Match (S3, GCS, Azure, HDFS do), newer "
                "versions of fsspec and of its package for the store, or a local log directory",
            )

    def create(self, name: str, content: bytes) -> bool:
        """Whether the file was not there and is now; False: somebody else's stays as it is."""
        return self._created(name, lambda path, **mode: self._fs.pipe_file(path, content, **mode))

    def create_from(self, name: str, source: Path) -> bool:
        """As `create`, with the content of a local file of any size."""
        return self._created(
            name, lambda path, **mode: self._fs.put_file(str(source), path, **mode)
        )

    def read(self, name: str) -> bytes | None:
        """The content of a small file; None: there is none."""
        with self._told("read", name):
            try:
                with self._fs.open(self._path(name), "rb") as file:
                    content = bytes(file.read(SMALL_BYTES_MAX + 1))
            except FileNotFoundError:
                return None
        if len(content) > SMALL_BYTES_MAX:
            raise RowsError(f"{self.shown}/{name} is too large to be ours", do="look at who wrote")
        return content

    def pieces(self, name: str) -> Iterator[bytes]:
        """The content of a file of any size."""
        with self._told("read", name), self._fs.open(self._path(name), "rb") as file:
            while piece := file.read(_PIECE_BYTES):
                yield bytes(piece)

    def names(self, folder: str) -> list[str]:
        """What lies in a folder: last parts of names, sorted. No folder is an empty one."""
        with self._told("list", folder):
            self._fs.invalidate_cache()
            try:
                found = self._fs.ls(self._path(folder), detail=False)
            except FileNotFoundError:
                return []
        last = {str(path).rstrip("/").rpartition("/")[2] for path in found}
        return sorted(last - {folder.rpartition("/")[2], ""})

    def bytes_of(self, name: str) -> int:
        with self._told("look at", name):
            self._fs.invalidate_cache()
            return int(self._fs.info(self._path(name))["size"])

    def sha256(self, name: str) -> str:
        digest = hashlib.sha256()
        for piece in self.pieces(name):
            digest.update(piece)
        return digest.hexdigest()

    def _own_options(self) -> dict[str, str]:
        """What the package for this protocol should be told; one that cannot be used is refused."""
        import fsspec  # noqa: PLC0415

        if self.abilities.creates != "by rename":
            return {}
        package = fsspec.get_filesystem_class(self.protocol).__module__
        if package == _REPLACES:
            raise RowsError(
                f"{self.shown} would be reached by pyarrow, which renames over a file that is "
                "there: writers could destroy each other's segments",
                do="pip install 'holdfast[hdfs]', which needs no Java, or use webhdfs://",
            )
        return _OPTIONS.get(package, {})

    def _path(self, name: str) -> str:
        return f"{self._root}/{name}"

    def _created(self, name: str, write: Callable[..., Any]) -> bool:
        path = self._path(name)
        with self._told("write", name):
            try:
                if self.abilities.creates == "by rename":
                    return self._renamed_into_place(path, write)
                if self.protocol not in _BUCKETS:
                    self._fs.makedirs(path.rpartition("/")[0], exist_ok=True)
                write(path, mode="create")
            except FileExistsError:
                return False
            return True

    def _renamed_into_place(self, path: str, write: Callable[..., Any]) -> bool:
        """A rename that does not replace; that it did nothing shows by what it left behind."""
        folder, _, last = path.rpartition("/")
        self._fs.makedirs(folder, exist_ok=True)
        temporary = f"{folder}/.{last}.{secrets.token_hex(8)}.tmp"
        write(temporary)
        try:
            self._fs.mv(temporary, path)
        except (OSError, RuntimeError):
            if not self._fs.exists(path):
                raise
        if self._fs.exists(temporary):
            self._fs.rm_file(temporary)
            return False
        return True

    @contextlib.contextmanager
    def _told(self, act: str, name: str = "") -> Iterator[None]:
        """Each package has errors of its own; the caller hears ours, with what to do."""
        place = f"{self.shown}/{name}" if name else self.shown
        try:
            yield
        except RowsError:
            raise
        except Exception as error:
            raise store_error(act, place, error, protocol=self.protocol) from error


def answered(url: str, call: Callable[[], T]) -> T:
    """The answer, in bounded time: some packages wait for half an hour for a silent address."""
    answers: list[T] = []
    errors: list[BaseException] = []

    def ask() -> None:
        try:
            answers.append(call())
        except BaseException as error:  # noqa: BLE001 - it is raised again below
            errors.append(error)

    # A daemon, because nothing can be done about a call that never returns.
    asking = threading.Thread(target=ask, name="holdfast-rows-ask", daemon=True)
    asking.start()
    asking.join(ANSWER_S_MAX)
    if errors:
        raise errors[0]
    if not answers:
        raise Unwritable(
            f"{shown(url)} gave no answer in {ANSWER_S_MAX:g} s",
            do="look at the address (endpoint_url), the network and the proxy",
        )
    return answers[0]

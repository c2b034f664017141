"""Where rows wait on this host until their remote log directory has them.

SPOOL/<digest of the URL>/ is a log directory like any other, and remote.json in it says whose.
"""

import contextlib
import fcntl
import hashlib
import json
import os
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

from holdfast.rows import layout
from holdfast.rows.errors import RowsError, unwritable

SPOOL_BYTES_MAX = 16 << 30
LOCK_FILE = "uploading.lock"
_REMOTE_FILE = "remote.json"
_DIGEST_CHARS = 16
# By the standard of Linux's folders this one outlives a reboot, which /tmp need not.
_LASTING = Path("/var/tmp")


def default_root() -> Path:
    """/var/tmp/holdfast-rows-UID; below $TMPDIR where that cannot be written."""
    lasting = _LASTING if os.access(_LASTING, os.W_OK) else Path(tempfile.gettempdir())
    return lasting / f"holdfast-rows-{os.getuid()}"


def spool_for(url: str, root: Path | None) -> Path:
    """The log directory on this host that stands before `url`; made if it is new."""
    root = root or default_root()
    url = url.rstrip("/")
    spool = root / _digest(url)
    try:
        _make_private(root)
        spool.mkdir(mode=0o700, exist_ok=True)
        if not (spool / _REMOTE_FILE).exists():
            temporary = spool / layout.temporary_name(_REMOTE_FILE)
            temporary.touch(mode=0o600, exist_ok=False)
            temporary.write_text(json.dumps({"url": url}) + "\n")
            temporary.replace(spool / _REMOTE_FILE)
    except OSError as error:
        raise unwritable(root, error, do="name another folder of this host: spool=...") from error
    return spool


def fetched_for(url: str, root: Path) -> Path:
    """Where what is fetched from `url` lies if nobody says where."""
    try:
        _make_private(root)
    except OSError as error:
        raise unwritable(root, error, do="name a folder for it") from error
    return root / f"fetched-{_digest(url.rstrip('/'))}"


def url_of(spool: Path) -> str | None:
    """Which remote log directory this spool is for; None: it is no spool."""
    url = layout.read_json(spool / _REMOTE_FILE).get("url")
    return url if isinstance(url, str) else None


def spools(root: Path) -> list[Path]:
    """`root` itself if it is one spool, or those that lie in it."""
    places = [root, *sorted(path for path in root.iterdir() if path.is_dir())]
    return [place for place in places if url_of(place)]


def waiting_bytes(folder: Path) -> int:
    """What of one source is still only on this host."""
    total = 0
    with contextlib.suppress(FileNotFoundError):
        for entry in os.scandir(folder):
            with contextlib.suppress(FileNotFoundError):  # uploaded just now
                total += entry.stat(follow_symlinks=False).st_size
    return total


@contextlib.contextmanager
def uploading(folder: Path) -> Iterator[bool]:
    """Whether this source is ours to upload; the kernel ends our hold if we are killed."""
    try:
        fd = os.open(folder / LOCK_FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except FileNotFoundError:
        yield False
        return
    try:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        # Whoever had it before us may have finished and removed it.
        yield os.fstat(fd).st_nlink > 0
    finally:
        os.close(fd)


def _digest(url: str) -> str:
    return hashlib.sha256(url.encode()).hexdigest()[:_DIGEST_CHARS]


def _make_private(root: Path) -> None:
    """Others may write in /var/tmp, too: what waits there must be ours alone."""
    with contextlib.suppress(FileExistsError):
        root.mkdir(mode=0o700, parents=True)
    found = root.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o022:
        raise RowsError(
            f"the spool {root} is not a folder that only this user can write",
            do="remove it or make it yours (chmod go-w), or name another: spool=...",
        )

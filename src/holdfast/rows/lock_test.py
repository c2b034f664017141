"""Do locks work in this folder? Two processes really try.

What a file system says about its locks and what they do are two things: an NFS mount with
`local_lock=flock` or a Lustre mount with `localflock` grants every lock, and holds none of them
against another host. So both are asked: two processes here, and the mount's own options.
"""

import contextlib
import os
import secrets
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from holdfast.rows.mounts import mount_of

TRY_S = 10.0
WORKS = "works"

# In a process of its own: a lock that a mere second file descriptor sees would prove less.
_TRY = """
import fcntl, os, sys
fd = os.open(sys.argv[1], os.O_RDWR)
for name, lock in (("flock", fcntl.flock), ("fcntl", fcntl.lockf)):
    try:
        lock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        print(name, "refused", flush=True)
    except PermissionError:
        print(name, "refused", flush=True)
    except OSError as error:
        print(name, "error", error.strerror, flush=True)
    else:
        print(name, "granted", flush=True)
"""

# Whose locks other hosts do not see, or only perhaps; the mount's options decide for some.
_ONLY_HERE = {
    "9p": "9p keeps locks on this host",
    "fuse.sshfs": "sshfs keeps locks on this host",
    "fuse.s3fs": "a mounted bucket has no locks that other hosts see",
    "fuse.goofys": "a mounted bucket has no locks that other hosts see",
    "fuse.gcsfuse": "a mounted bucket has no locks that other hosts see",
    "fuse.mount-s3": "a mounted bucket has no locks that other hosts see",
    "fuse.rclone": "a mounted bucket has no locks that other hosts see",
    "fuse.blobfuse": "a mounted bucket has no locks that other hosts see",
    "fuse.blobfuse2": "a mounted bucket has no locks that other hosts see",
    "fuse.hdfs": "HDFS has no locks",
    "fuse_dfs": "HDFS has no locks",
    "vboxsf": "a shared folder of VirtualBox has no locks that the host sees",
}
_SHARED = frozenset({"nfs", "nfs4", "lustre", "ceph", "cifs", "smb3", "gpfs", "beegfs", "gfs2"})


@dataclass(frozen=True)
class LockTest:
    """`works` is what to go by; `why` says it in a sentence, also when it works."""

    works: bool
    why: str
    file_system: str
    flock: str  # works, or what went wrong
    fcntl: str
    is_shared: bool  # whether other hosts may have the same folder


def locks_work(folder: str | os.PathLike[str]) -> LockTest:
    """Try flock and fcntl between two real processes on a file in this folder; it is removed."""
    place = Path(os.path.realpath(folder))
    kind, options = mount_of(place)
    tried = _tried(place)
    only_here = _only_here(kind, options)
    is_shared = kind in _SHARED or kind.startswith("fuse")
    if only_here:
        why = f"{place} is on {kind}: {only_here}"
    elif tried["flock"] != WORKS or tried["fcntl"] != WORKS:
        bad = next(name for name in ("flock", "fcntl") if tried[name] != WORKS)
        why = f"{place} is on {kind}: {bad} {tried[bad]}"
    else:
        more = "; other hosts were not tried" if is_shared else ""
        why = f"{place} is on {kind}: two processes tried flock and fcntl, and they hold{more}"
    works = not only_here and tried["flock"] == tried["fcntl"] == WORKS
    return LockTest(works, why, kind, tried["flock"], tried["fcntl"], is_shared)


def _tried(place: Path) -> dict[str, str]:
    """What a second process was answered, with the lock held by us and without."""
    probe = place / f".holdfast-lock-test.{secrets.token_hex(8)}"
    try:
        fd = os.open(probe, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except OSError as error:
        said = f"could not be tried: {error.strerror}"
        return {"flock": said, "fcntl": said}
    try:
        return _between_two(fd, probe)
    finally:
        os.close(fd)
        with contextlib.suppress(OSError):
            probe.unlink()


def _between_two(fd: int, probe: Path) -> dict[str, str]:
    import fcntl  # noqa: PLC0415 - Linux and macOS only, as everything here

    found = {"flock": WORKS, "fcntl": WORKS}
    for name, lock in (("flock", fcntl.flock), ("fcntl", fcntl.lockf)):
        try:
            lock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            found[name] = f"fails: {error.strerror}"
    held = _second(probe)
    for lock in (fcntl.flock, fcntl.lockf):
        with contextlib.suppress(OSError):
            lock(fd, fcntl.LOCK_UN)
    free = _second(probe)
    for name, said in found.items():
        if said != WORKS:
            continue
        if held.get(name) == "granted":
            found[name] = "was granted to two processes at once"
        elif held.get(name) != "refused" or free.get(name) != "granted":
            found[name] = f"answers {held.get(name)} while held, and {free.get(name)} when free"
    return found


def _second(probe: Path) -> dict[str, str]:
    command = [sys.executable, "-I", "-S", "-c", _TRY, str(probe)]
    try:
        ran = subprocess.run(command, capture_output=True, timeout=TRY_S, check=False, text=True)
    except (OSError, subprocess.TimeoutExpired) as error:
        return dict.fromkeys(("flock", "fcntl"), f"no answer ({type(error).__name__})")
    return {
        name: said for name, _, said in (line.partition(" ") for line in ran.stdout.splitlines())
    }


def _only_here(kind: str, options: str) -> str:
    """Why another host would not see our locks, by the mount's own word."""
    words = options.split(",")
    if kind in _ONLY_HERE:
        return _ONLY_HERE[kind]
    if kind in ("nfs", "nfs4") and any(
        word == "nolock" or (word.startswith("local_lock=") and word != "local_lock=none")
        for word in words
    ):
        return "mounted with local locks (nolock or local_lock): other hosts do not see them"
    if kind == "lustre" and "localflock" in words:
        return "mounted with localflock: other hosts do not see the locks"
    if kind == "lustre" and "flock" not in words:
        return "mounted without the option flock: it has no locks"
    if kind in ("cifs", "smb3") and "nobrl" in words:
        return "mounted with nobrl: the server is not asked for locks"
    return ""

"""What a lease's side file says: who holds it, and whether that process still lives.

The guard takes this file into tasks where Holdfast is not installed: it needs nothing but Python.
"""

from __future__ import annotations

import json
import os
import secrets
import socket
import time
from dataclasses import asdict, dataclass, replace
from typing import Any

from .errors import Held

__all__ = ["Held", "Owner", "held", "is_held", "owner_in", "record_of", "side_file_of"]

SUFFIX = ".holdfast-lease"
TERM_S = 600.0
CLOCKS_APART_S = 60.0  # how far two hosts' clocks may differ
RECORD_BYTES = 4096  # one write of one size: a reader sees the old record or the new one
TEXT_MAX = 100
GONE = ("Z", "X")  # of proc(5): what is left of a process


@dataclass(frozen=True)
class Owner:
    """Who holds a lease. `began` is the start of the process in ticks since the boot."""

    host: str
    pid: int
    task: str
    since: str  # ISO 8601, UTC
    until_s: float  # Unix time; nobody has to respect it longer
    token: int
    boot: str
    pid_space: str
    began: int
    inode: int = 0  # of the file, once it is open; 0 means for whatever has the name
    nonce: str = ""  # of this one taking: a count may begin anew, this never comes twice

    def is_same_taking(self, other: Owner | None) -> bool:
        return other is not None and (self.token, self.nonce) == (other.token, other.nonce)


def side_file_of(path: str | os.PathLike[str]) -> str:
    """The lease's place: beside the file itself, not beside a symbolic link to it."""
    folder, name = os.path.split(os.path.realpath(path))
    return os.path.join(folder, "." + name + SUFFIX)  # noqa: PTH118


def record_of(owner: Owner) -> bytes:
    return json.dumps(asdict(owner)).encode().ljust(RECORD_BYTES - 1) + b"\n"


def owner_in(record: bytes) -> Owner | None:
    """A record that is torn or somebody else's text names nobody."""
    try:
        found: Any = json.loads(record)
        return Owner(
            host=str(found["host"])[:TEXT_MAX],
            pid=int(found["pid"]),
            task=str(found["task"])[:TEXT_MAX],
            since=str(found["since"])[:TEXT_MAX],
            until_s=float(found["until_s"]),
            token=int(found["token"]),
            boot=str(found["boot"]),
            pid_space=str(found["pid_space"]),
            began=int(found["began"]),
            inode=int(found.get("inode", 0)),
            nonce=str(found.get("nonce", ""))[:TEXT_MAX],
        )
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError):
        return None


def myself(task: str, *, token: int, term_s: float) -> Owner:
    """This process, as the owner from now on."""
    owner = _of_process(os.getpid(), task=task, term_s=term_s)
    return replace(owner, token=token, nonce=secrets.token_hex(8))


def seen_from_outside(pid: int) -> Owner:
    """A process that has a file open without a lease, as far as others can see it."""
    words = _read_text("/proc/%d/cmdline" % pid).split("\0")  # noqa: UP031
    owner = _of_process(pid, task=" ".join(words).strip(), term_s=TERM_S)
    return replace(owner, since="before " + owner.since)


def is_held(owner: Owner) -> bool:
    """Alive where we can look; where we cannot, until its time has run out."""
    if owner.until_s <= 0:
        return False
    in_time = time.time() < owner.until_s + CLOCKS_APART_S
    if is_here(owner):
        began = process_began(owner.pid)
        return in_time if began is None and _may_be_hidden(owner.pid) else began == owner.began
    if owner.host == socket.gethostname()[:TEXT_MAX] and owner.boot != boot_id():
        return False  # this very host, started anew since
    return in_time


def is_here(owner: Owner) -> bool:
    """Whether its pid means something to us."""
    same = (owner.boot, owner.pid_space) == (boot_id(), pid_space())
    return same and (bool(owner.boot) or owner.host == socket.gethostname()[:TEXT_MAX])


def boot_id() -> str:
    return _read_text("/proc/sys/kernel/random/boot_id").strip()


def pid_space() -> str:
    """Numbers of processes mean something only inside of one such space."""
    try:
        return os.readlink("/proc/self/ns/pid")  # noqa: PTH115
    except OSError:
        return ""


def process_began(pid: int) -> int | None:
    """The start of a process in ticks; None when there is none, or only what is left of it."""
    state, began = _state("/proc/%d/stat" % pid)  # noqa: UP031
    if state not in GONE:
        return began
    # Its first thread may be over while another one is still in the middle of a write.
    try:
        threads = os.listdir("/proc/%d/task" % pid)  # noqa: PTH208, UP031
    except OSError:
        return None
    states = (_state("/proc/%d/task/%s/stat" % (pid, one))[0] for one in threads)  # noqa: UP031
    return began if any(one and one not in GONE for one in states) else None


def held(path: str, owner: Owner | None) -> Held:
    """The sentence that says who holds a file."""
    if owner is None:
        return Held(
            "%s: the lease is lost: somebody has removed its side file" % path,  # noqa: UP031
            do="let nobody delete files that end in " + SUFFIX,
        )
    who = "%s (pid %d on %s)" % (owner.task, owner.pid, owner.host)  # noqa: UP031
    return Held(
        "%s is held for writing by %s since %s" % (path, who, owner.since),  # noqa: UP031
        do=_what_to_do(path, owner),
        host=owner.host,
        pid=owner.pid,
        task=owner.task,
        since=owner.since,
    )


def _what_to_do(path: str, owner: Owner) -> str:
    if is_here(owner) and owner.pid == os.getpid():
        return "that is this very process: use the file where it is open, or close it there first"
    one_each = "let one task write it, or give each its own file"
    if is_here(owner):
        return one_each + ", or try again when that process has closed it or is gone"
    side = path if path.endswith(SUFFIX) else side_file_of(path)
    return one_each + "; if that host is gone, remove " + side


def _of_process(pid: int, *, task: str, term_s: float) -> Owner:
    now = time.time()
    began = process_began(pid)
    return Owner(
        host=socket.gethostname()[:TEXT_MAX],
        pid=pid,
        task=task[:TEXT_MAX] or "a program",
        since=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(now)),
        until_s=now + term_s,
        token=0,
        boot=boot_id(),
        pid_space=pid_space(),
        began=-1 if began is None else began,
    )


def _state(path: str) -> tuple[str, int | None]:
    fields = _read_text(path).rpartition(")")[2].split()
    return (fields[0], int(fields[19])) if len(fields) >= 20 else ("", None)  # noqa: PLR2004 - proc(5)


def _may_be_hidden(pid: int) -> bool:
    """Whether there is such a process that /proc does not show us: hidepid, or no /proc at all."""
    if os.path.exists("/proc/%d" % pid):  # noqa: PTH110, UP031
        return False
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except (OSError, OverflowError):
        return False
    return not os.path.exists("/proc/self")  # noqa: PTH110


def _read_text(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:  # noqa: PTH123
            return file.read(4096)
    except OSError:
        return ""

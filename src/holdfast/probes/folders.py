"""What a directory can do: room, writing, locks and appending, really tried."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from holdfast.model.facts import DiskMeasured, Fact, FolderMeasured, ProbeBlind
from holdfast.model.mounts import mount_in
from holdfast.probes import said_in_time

FOLDER_WAIT_S = 2.0
MOUNTINFO_BYTES_MAX = 4 << 20
WHY_LENGTH_MAX = 200
_TRIAL = str(Path(__file__).with_name("folder_trial.py"))


def measure_folder(path: str, purpose: str, where: dict[str, Any]) -> Iterator[Fact]:
    """What a task could do in a directory; before it is there, in the nearest one above it."""
    probe = f"{purpose} directory {path}"
    if "://" in path:
        yield ProbeBlind(probe=probe, why="it is not a path of this host", **where)
        return
    command = (sys.executable, "-I", "-S", _TRIAL, "folder", path)
    said = said_in_time(command, wait_s=FOLDER_WAIT_S)
    seen = _objects(said.out)
    if "free_inodes" in seen:
        yield DiskMeasured(
            path=seen["place"],
            free_bytes=seen["free_bytes"],
            total_bytes=seen["total_bytes"],
            free_inodes=seen["free_inodes"],
            total_inodes=seen["total_inodes"],
            purpose=purpose,
            **where,
        )
    if "resolved" in seen:
        yield FolderMeasured(
            path=path,
            purpose=purpose,
            filesystem=_filesystem(seen["resolved"]),
            write=_write(seen, path),
            locks=seen.get("locks", ""),
            append=seen.get("append", ""),
            **where,
        )
    if "done" not in seen:
        words = said.err.strip().rpartition("\n")[2][:WHY_LENGTH_MAX]
        why = words or f"no answer within {FOLDER_WAIT_S:g} s: the file system may hang"
        yield ProbeBlind(probe=probe, why=why, **where)


def _write(seen: dict[str, Any], path: str) -> str:
    """Whether it works, or the reason; where that is not about the directory itself, of whom."""
    outcome: str = seen.get("write", "")
    if outcome in {"", "works"} or seen["place"] == path.rstrip("/"):
        return outcome
    return f"{outcome} ({seen['place']})"


def _objects(text: str) -> dict[str, Any]:
    """All that the trial said; its last line may be cut."""
    seen: dict[str, Any] = {}
    for line in text.splitlines():
        try:
            seen.update(json.loads(line))
        except ValueError:
            break
    return seen


def _filesystem(resolved: str) -> str:
    try:
        with Path("/proc/self/mountinfo").open("rb") as file:
            mountinfo = file.read(MOUNTINFO_BYTES_MAX).decode(errors="surrogateescape")
    except OSError:
        return ""
    mount = mount_in(mountinfo, resolved)
    return mount.kind if mount else ""

"""What an agent can look at. One file each; none ever blocks a task, or us."""

import contextlib
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from holdfast.model.mounts import Mount, mount_in

# What a local file system knows lies in memory or on a disk of this host. A file server may never
# answer.
LOCAL = frozenset({"btrfs", "ext2", "ext3", "ext4", "f2fs", "overlay", "tmpfs", "xfs", "zfs"})
SAID_BYTES_MAX = 65_536
MAPS_BYTES_MAX = 16 << 20
MOUNTINFO_BYTES_MAX = 1 << 20
OPEN_FILES_MAX = 1_000
_READ_BYTES = 8_192
_FAREWELL_S = 0.2  # for the kernel to take away a process that was killed
_ACCESS = 0o3  # of the flags of an open file: O_RDONLY, O_WRONLY or O_RDWR
_CGROUPS = Path("/sys/fs/cgroup")
_left: list["subprocess.Popen[bytes]"] = []  # killed, and not gone yet: reaped at the next call


@dataclass(frozen=True, slots=True)
class Said:
    """What a process of ours said before it ended, or before its time was over."""

    out: str
    err: str
    code: int | None  # None: it did not end in time


def said_in_time(command: Sequence[str], *, wait_s: float) -> Said:
    """Run what may hang, such as a look at a dead file server, where it holds up nobody.

    A process that the kernel does not let go of, not even killed, is left alone.
    """
    _left[:] = [process for process in _left if process.poll() is None]
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except OSError as error:
        return Said("", f"{command[0]}: {error.strerror}", 127)
    until_s = time.monotonic() + wait_s
    try:
        out, err = _read(process, until_s)
        code = process.wait(max(0.0, until_s - time.monotonic()))
    except subprocess.TimeoutExpired:
        code = None
    finally:
        if process.poll() is None:  # not reaped, so its number is still its own
            with contextlib.suppress(OSError):
                os.killpg(process.pid, signal.SIGKILL)
        for pipe in (process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()
        try:
            process.wait(_FAREWELL_S)
        except subprocess.TimeoutExpired:
            _left.append(process)
    return Said(out.decode(errors="replace"), err.decode(errors="replace"), code)


def _read(process: subprocess.Popen[bytes], until_s: float) -> tuple[bytes, bytes]:
    """Both streams to their ends, their bounds or the end of the time."""
    assert process.stdout is not None
    assert process.stderr is not None
    heard = {process.stdout: bytearray(), process.stderr: bytearray()}
    with selectors.DefaultSelector() as selector:
        for pipe in heard:
            selector.register(pipe, selectors.EVENT_READ)
        while selector.get_map() and (left_s := until_s - time.monotonic()) > 0:
            for key, _ in selector.select(left_s):
                pipe = process.stdout if key.fd == process.stdout.fileno() else process.stderr
                piece = os.read(key.fd, _READ_BYTES)
                heard[pipe] += piece
                if not piece or len(heard[pipe]) > SAID_BYTES_MAX:
                    selector.unregister(pipe)
    return bytes(heard[process.stdout]), bytes(heard[process.stderr])


def cgroup_folders(controller: str, *, pid: int | str = "self") -> Iterator[Path]:
    """A process's cgroup and those above it, for memory, cpu or pids. v1 and v2.

    Inside a container the path may be the host's, which leads nowhere: then only the top,
    which is the container's own, is there.
    """
    try:
        lines = Path(f"/proc/{pid}/cgroup").read_text().splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controller in controllers.split(","):
            mount = _CGROUPS / controller
        elif not controllers and (_CGROUPS / "cgroup.controllers").exists():
            mount = _CGROUPS
        else:
            continue
        folder = mount / path.strip("/")
        for above in (folder, *folder.parents):
            if above.is_relative_to(mount) and above.is_dir():
                yield above
        return


def open_files(pid: int) -> Iterator[tuple[str, str]]:
    """The files that a process holds open: descriptor and path. None is touched."""
    try:
        with os.scandir(f"/proc/{pid}/fd") as entries:
            for entry in islice(entries, OPEN_FILES_MAX):
                with contextlib.suppress(OSError):
                    # A Path for each costs more.
                    yield entry.name, os.readlink(entry.path)  # noqa: PTH115
    except OSError:
        return


def mount_of(path: str) -> Mount | None:
    """Which mount holds an absolute path, without a look at the path itself."""
    return mount_in(mountinfo(), path)


def mountinfo() -> str:
    """The kernel's list of mounts; empty where it cannot be read."""
    try:
        with Path("/proc/self/mountinfo").open("rb") as file:
            return file.read(MOUNTINFO_BYTES_MAX).decode(errors="surrogateescape")
    except OSError:
        return ""


def is_written(pid: int, descriptor: str) -> bool:
    """Whether a process has opened a file to write into it."""
    return access_of(pid, descriptor) in {os.O_WRONLY, os.O_RDWR}


def access_of(pid: int, descriptor: str) -> int | None:
    """How a process has opened a file: O_RDONLY, O_WRONLY or O_RDWR; None: it has not."""
    try:
        lines = Path(f"/proc/{pid}/fdinfo/{descriptor}").read_text().splitlines()
    except OSError:
        return None
    flags = next((line.split()[1] for line in lines if line.startswith("flags:")), "0")
    return int(flags, 8) & _ACCESS


def mapped_files(pid: int) -> Iterator[str]:
    """Each file that a process has mapped into its memory, once; none where we may not look."""
    try:
        with Path(f"/proc/{pid}/maps").open("rb") as file:
            text = file.read(MAPS_BYTES_MAX).decode(errors="replace")
    except OSError:
        return
    last = ""
    for line in text.splitlines():
        _, slash, rest = line.partition("/")
        path = slash + rest
        if path and path != last:  # a library is mapped in several pieces
            last = path
            yield path

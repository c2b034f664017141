"""How many bytes went through interfaces and disks, and into and out of processes, so far."""

from collections.abc import Iterable
from typing import NamedTuple

INTERFACES_MAX, DISKS_MAX, PROCESSES_MAX = 64, 256, 64
NAME_LENGTH_MAX = 32
_SECTOR_BYTES = 512  # in /proc/diskstats, whatever the disk's own are
_MS_PER_S = 1000
_SENT = 8  # of the numbers behind an interface's name
_DISK_FIELDS_MIN = 13
_READ_SECTORS, _WRITTEN_SECTORS, _BUSY_MS = 5, 9, 12
# What stands on other disks, or on none: its bytes are counted there, or are memory.
_NO_DISKS = (b"loop", b"ram", b"zram", b"dm-", b"md", b"sr", b"fd", b"nbd")


class Flow(NamedTuple):
    """Bytes since the beginning, in both directions: received and sent, or read and written."""

    into: int
    out: int


class DiskFlow(NamedTuple):
    """All disks together, but for the time in which each of them was busy."""

    bytes: Flow
    busy_s: dict[str, float]


def interface_flows(pid: int) -> dict[str, Flow]:
    """Of each interface in the network namespace of a process. Costs 20 microseconds."""
    found: dict[str, Flow] = {}
    for line in _lines(f"/proc/{pid}/net/dev")[2 : INTERFACES_MAX + 2]:
        name, _, numbers = line.partition(b":")
        words = numbers.split()
        if len(words) > _SENT:
            flow = Flow(into=int(words[0]), out=int(words[_SENT]))
            found[name.strip().decode(errors="replace")[:NAME_LENGTH_MAX]] = flow
    return found


def disk_flow() -> DiskFlow:
    """Of this host. A disk's partitions stand right behind it, and are a part of it."""
    read = written = 0
    busy_s: dict[str, float] = {}
    whole = b""
    for line in _lines("/proc/diskstats")[:DISKS_MAX]:
        words = line.split(maxsplit=_DISK_FIELDS_MIN)
        if len(words) < _DISK_FIELDS_MIN or words[2].startswith(_NO_DISKS):
            continue
        if whole and words[2].startswith(whole):
            continue
        whole = words[2]
        read += int(words[_READ_SECTORS])
        written += int(words[_WRITTEN_SECTORS])
        name = whole.decode(errors="replace")[:NAME_LENGTH_MAX]
        busy_s[name] = int(words[_BUSY_MS]) / _MS_PER_S
    return DiskFlow(Flow(into=read * _SECTOR_BYTES, out=written * _SECTOR_BYTES), busy_s)


def storage_flow(pids: Iterable[int]) -> Flow | None:
    """What processes have read from storage, and written for it: cached files do not count.

    A process that has ended is counted in the one that waited for it. None: we may not know.
    """
    flows = [flow for pid in list(pids)[:PROCESSES_MAX] if (flow := _io_of(pid))]
    if not flows:
        return None
    return Flow(into=sum(one.into for one in flows), out=sum(one.out for one in flows))


def _io_of(pid: int) -> Flow | None:
    counts = dict(line.split(b": ", 1) for line in _lines(f"/proc/{pid}/io") if b": " in line)
    try:
        return Flow(into=int(counts[b"read_bytes"]), out=int(counts[b"write_bytes"]))
    except (KeyError, ValueError):
        return None


def _lines(path: str) -> list[bytes]:
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - a Path for each costs more than the look
            return file.read().splitlines()
    except OSError:
        return []

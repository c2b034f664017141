"""A few processes at one moment: what they have used so far, and where their main threads are."""

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass

PROCESSES_MAX = 8  # of one task, nearest to the one that trains first
WAITS_IN_LENGTH_MAX = 64
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_NS_PER_S = 1e9
# Counted after `comm`.
_STAT_PPID, _STAT_UTIME, _STAT_STIME, _STAT_STARTED, _STAT_STATUS = 1, 11, 12, 19, 49


@dataclass(frozen=True, slots=True)
class Counted:
    """One process, and what its main thread is in. What could not be read is empty."""

    pid: int
    parent: int
    state: str  # the kernel's letter
    started_ticks: int  # with the pid, the identity of a process: pids are used again
    cpu_s: float
    main_s: float  # its main thread was on a core
    wanted_s: float  # its main thread wanted a core, and got none
    moved_bytes: int  # read and written; -1: the kernel does not say
    call: str  # as /proc/PID/syscall has it: `running`, or a number and its arguments
    waits_in: str
    status: int = 0  # of one that is dead: how it ended, as wait(2) would tell


@dataclass(frozen=True, slots=True)
class Sample:
    at_s: float
    processes: tuple[Counted, ...]  # the one that was asked for first

    def before(self, now: Counted) -> Counted | None:
        """The same process in this sample."""
        for one in self.processes:
            if (one.pid, one.started_ticks) == (now.pid, now.started_ticks):
                return one
        return None


def take_sample(pids: Sequence[int]) -> Sample:
    """A few small reads a process, none of which waits for it. Who is gone is left out."""
    counted = (_counted(pid) for pid in pids[:PROCESSES_MAX])
    return Sample(time.monotonic(), tuple(one for one in counted if one))


def _counted(pid: int) -> Counted | None:
    text = read(f"/proc/{pid}/stat")
    if not text:
        return None
    fields = text[text.rindex(")") + 2 :].split()
    cpu_s = (int(fields[_STAT_UTIME]) + int(fields[_STAT_STIME])) / _TICKS_PER_S
    ran = read(f"/proc/{pid}/task/{pid}/schedstat").split()
    counts = [int(word) / _NS_PER_S for word in ran[:2]] if len(ran) > 1 else [cpu_s, 0.0]
    channel = read(f"/proc/{pid}/wchan").strip()[:WAITS_IN_LENGTH_MAX]
    return Counted(
        pid=pid,
        parent=int(fields[_STAT_PPID]),
        state=fields[0],
        started_ticks=int(fields[_STAT_STARTED]),
        cpu_s=cpu_s,
        main_s=counts[0],
        wanted_s=counts[1],
        moved_bytes=_moved(pid),
        call=read(f"/proc/{pid}/syscall").strip(),
        waits_in="" if channel == "0" else channel,
        status=int(fields[_STAT_STATUS]) if len(fields) > _STAT_STATUS else 0,
    )


def _moved(pid: int) -> int:
    words = read(f"/proc/{pid}/io").split()
    found = dict(zip(words[::2], words[1::2], strict=False))
    try:
        return int(found["rchar:"]) + int(found["wchar:"])
    except (KeyError, ValueError):
        return -1


def read(path: str, bytes_max: int = 1 << 16) -> str:
    """What /proc says there; empty where it does not."""
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - many of these for each look
            return file.read(bytes_max).decode("utf-8", "replace")
    except OSError:
        return ""

"""Signs of progress that need no word from a task: how its main thread wakes up, runs and waits.

In a task that trains, the main thread sleeps and wakes at least once in every step; in a deadlock
or a collective that never ends it does not wake at all. A server's main thread stands in join()
for ever.
"""

import os
from dataclasses import dataclass

_TICK_NS = 1_000_000_000 // os.sysconf("SC_CLK_TCK")
_STAT_UTIME, _STAT_STIME = 11, 12  # counted after `comm`
_READ_BYTES = 4_096
RUNS = frozenset({"R", "D"})  # the kernel's letters


@dataclass(frozen=True, slots=True)
class Rhythm:
    """The main thread of one process, counted since it began."""

    state: str  # the kernel's letter
    wakes: int  # how often it slept of its own accord: each such sleep ended with a wake-up
    preempted: int  # how often it was taken off its core
    run_ns: int  # on a core
    starved_ns: int  # wanted a core, and got none; 0 where the kernel does not count it
    waits_in: str  # the kernel's name for what it waits in; empty: it runs, or nobody tells

    @property
    def waits_for_waker(self) -> bool:
        """Whether it sleeps until another thread wakes it: as in a collective or a lock."""
        return self.waits_in.startswith("futex")

    @property
    def is_doing(self) -> bool:
        """Whether it works or sleeps in its own code, rather than waits to be woken."""
        return not self.waits_for_waker if self.waits_in else self.state in RUNS


def starved_s(before: Rhythm, now: Rhythm, elapsed_s: float) -> float:
    """How long it wanted a core and got none, between two looks.

    The kernel counts that only when it gets one at last: who wants to run in both looks and has not
    run meanwhile has waited all the time.
    """
    if before.state == now.state == "R" and now.run_ns == before.run_ns:
        return elapsed_s
    return (now.starved_ns - before.starved_ns) / 1e9


def rhythm_of(pid: int) -> Rhythm | None:
    """None when the process is gone, or not ours to look at."""
    thread = f"/proc/{pid}/task/{pid}"
    status = _read(f"{thread}/status")
    if not status:
        return None
    run = _read(f"{thread}/schedstat").split()
    channel = _read(f"{thread}/wchan").decode("ascii", "replace").strip()
    return Rhythm(
        state=_field(status, b"\nState:")[:1].decode("ascii", "replace"),
        wakes=int(_field(status, b"\nvoluntary_ctxt_switches:") or 0),
        preempted=int(_field(status, b"\nnonvoluntary_ctxt_switches:") or 0),
        run_ns=int(run[0]) if run else _ticks_ns(thread),
        starved_ns=int(run[1]) if len(run) > 1 else 0,
        waits_in="" if channel == "0" else channel,
    )


def _ticks_ns(thread: str) -> int:
    """For kernels that keep no schedstat: the same in steps of 10 ms."""
    stat = _read(f"{thread}/stat")
    fields = stat[stat.rfind(b")") + 2 :].split()
    if len(fields) <= _STAT_STIME:
        return 0
    return (int(fields[_STAT_UTIME]) + int(fields[_STAT_STIME])) * _TICK_NS


def _field(status: bytes, name: bytes) -> bytes:
    start = status.find(name)
    if start < 0:
        return b""
    start += len(name)
    return status[start : status.find(b"\n", start)].strip()


def _read(path: str) -> bytes:
    """Plain calls: a file object for each would double the cost of a look."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        return os.read(fd, _READ_BYTES)
    except OSError:
        return b""
    finally:
        os.close(fd)

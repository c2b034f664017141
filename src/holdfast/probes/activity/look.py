"""What each of a few processes is doing, told from two samples of them."""

import os
from collections.abc import Callable
from dataclasses import replace

from holdfast.model.activity_facts import ProcessActivity
from holdfast.model.signals import signal_name
from holdfast.probes.activity import calls
from holdfast.probes.activity.calls import Call, call_in, does_in
from holdfast.probes.activity.sample import Counted, Sample, read
from holdfast.probes.activity.surroundings import Surroundings, shown

MAIN_COMPUTES_CORES = 0.2
COMPUTES_CORES = 0.3
CHILDREN_NAMED_MAX = 3
_BY_STATE = {"T": "stopped", "t": "traced", "Z": "gone", "X": "gone"}
_FUTEX_PRIVATE = 0x80  # a flag of its operation: only threads of this process can wake it
_WAITS_TO_LOCK = {7, 38}  # F_SETLKW, F_OFD_SETLKW
_P_PID, _P_PIDFD = 1, 3
_TERMINALS = ("/dev/pts/", "/dev/tty", "/dev/console")


def activities(before: Sample, now: Sample, around: Surroundings) -> tuple[ProcessActivity, ...]:
    """What the processes of the newer sample did since the older one; the same order."""
    over_s = max(now.at_s - before.at_s, 1e-3)
    return tuple(_activity(one, before.before(one), over_s, around) for one in now.processes)


def _activity(
    now: Counted, before: Counted | None, over_s: float, around: Surroundings
) -> ProcessActivity:
    was = before or now
    counts = -1 not in (now.moved_bytes, was.moved_bytes)
    found = ProcessActivity(
        pid=now.pid,
        parent=now.parent,
        command=around.command(now.pid),
        state=now.state,
        does="unknown",
        waits_in=now.waits_in,
        cores=_share(now.cpu_s - was.cpu_s, over_s),
        main_cores=_share(now.main_s - was.main_s, over_s),
        moved_bytes=max(0, now.moved_bytes - was.moved_bytes) if counts else -1,
        starved_share=min(1.0, _share(_wanted_s(was, now, over_s), over_s)),
    )
    if now.state in _BY_STATE:
        does = _BY_STATE[now.state]
        return replace(found, does=does, on=_end(now.status) if does == "gone" else "")
    call = call_in(now.call)
    if call.is_running or found.main_cores >= MAIN_COMPUTES_CORES:
        return replace(found, does="computes")
    found = _waits(replace(found, call=call.name), call, around)
    if now.state == "D":
        return replace(found, does="disk")
    if found.does == "unknown" and (now.state == "R" or found.cores >= COMPUTES_CORES):
        return replace(found, does="computes")
    return found


def _end(status: int) -> str:
    """How it ended, if not well."""
    if os.WIFSIGNALED(status):
        return f"killed by {signal_name(os.WTERMSIG(status))}"
    code = os.WEXITSTATUS(status)
    return f"exit code {code}" if code else ""


def _wanted_s(was: Counted, now: Counted, over_s: float) -> float:
    """A core, and got none: counted by the kernel only when it gets one at last."""
    unserved = was.state == now.state == "R" and now.main_s == was.main_s and was is not now
    return over_s if unserved else now.wanted_s - was.wanted_s


def _share(part_s: float, whole_s: float) -> float:
    return round(max(0.0, part_s / whole_s), 3)


def _waits(found: ProcessActivity, call: Call, around: Surroundings) -> ProcessActivity:
    """What its main thread waits in: by the call, and where that says nothing, by the kernel."""
    told = next((tell for names, tell in _BY_CALL if call.name in names), None)
    if told is not None:
        return told(found, call, around)
    does = does_in(found.waits_in) or "unknown"
    found = replace(found, does=does)
    if does == "waits-for-child":
        return _children(found, Call(arguments=(-1,)), around)
    if does == "waits-for-lock":
        return _lock(found, Call(), around)
    is_pipe = does in {"reads", "writes"} and "pipe" in found.waits_in
    return replace(found, on="a pipe") if is_pipe else found


def _futex(found: ProcessActivity, call: Call, around: Surroundings) -> ProcessActivity:
    """Another thread of its own; or, where other processes may wake it, whoever holds that."""
    _, operation, expected = (*call.arguments, 0, 0, 0)[:3]
    # Who joins a native thread waits for the thread's number to be wiped out, and shares that
    # with the kernel.
    joins = os.path.exists(f"/proc/{found.pid}/task/{expected}")  # noqa: PTH110 - of /proc
    if operation & _FUTEX_PRIVATE or joins:
        return replace(found, does="waits-for-thread")
    return replace(found, does="waits-for-lock", on="a lock shared with other processes")


def _sleeps(found: ProcessActivity, call: Call, around: Surroundings) -> ProcessActivity:
    return replace(found, does="sleeps", on="a signal" if call.name in calls.SIGNALS else "")


def _children(found: ProcessActivity, call: Call, around: Surroundings) -> ProcessActivity:
    """The child that it waits for, or any of those that live."""
    first = call.argument(0)
    if call.name == "waitid":
        first = call.argument(1) if first == _P_PID else _of_pidfd(found.pid, call)
    born = around.children.get(found.pid, ())
    awaited = [first] if first > 0 else born[:CHILDREN_NAMED_MAX]
    on = ", ".join(around.named(pid) for pid in awaited)
    return replace(found, does="waits-for-child", on=on)


def _of_pidfd(pid: int, call: Call) -> int:
    if call.argument(0) != _P_PIDFD:
        return -1
    lines = read(f"/proc/{pid}/fdinfo/{call.argument(1)}").splitlines()
    return next((int(line.split()[1]) for line in lines if line.startswith("Pid:")), -1)


def _transfers(found: ProcessActivity, call: Call, around: Surroundings) -> ProcessActivity:
    """Reads from or writes to what a descriptor leads to."""
    number = call.argument(0)
    does = "reads" if call.name in calls.READS else "writes"
    link = around.link(found.pid, number)
    if link.startswith("socket:"):
        on = around.socket(found.pid, link) or "a socket"
        return replace(found, does="waits-for-socket" if does == "reads" else does, on=on)
    if "pipe" in found.waits_in or link.startswith("pipe:"):
        return _pipe(replace(found, does=does), number, link, around)
    is_terminal = link.startswith(_TERMINALS)
    if number == 0 and does == "reads":
        on = f"its standard input ({'a terminal' if is_terminal else shown(link)})"
    else:
        on = f"a terminal ({link})" if is_terminal else shown(link)
    return replace(found, does=does, on=on)


def _pipe(found: ProcessActivity, number: int, link: str, around: Surroundings) -> ProcessActivity:
    reads = found.does == "reads"
    named = f"the FIFO {shown(link)}" if link.startswith("/") else "a pipe"
    if reads:
        on = f"its standard input ({named})" if number == 0 else named
    else:
        on = f"{named} that nobody empties"
    other = around.other_end(found.pid, link, writes=reads) if link else 0
    return replace(found, on=on, holder=around.named(other) if other else "")


def _asks_socket(found: ProcessActivity, call: Call, around: Surroundings) -> ProcessActivity:
    link = around.link(found.pid, call.argument(0))
    on = around.socket(found.pid, link) or "a socket"
    return replace(found, does="waits-for-socket", on=on)


def _lock(found: ProcessActivity, call: Call, around: Surroundings) -> ProcessActivity:
    """A file's lock. Whoever took it may be gone, or unnamed: then who has the file holds it."""
    if call.name == "fcntl" and call.argument(1) not in _WAITS_TO_LOCK:
        return found
    link = around.link(found.pid, call.argument(0)) if call.name else ""
    inode, holder = around.lock_waited_for(found.pid)
    if not (holder and around.command(holder)):
        holder = around.has_locked(found.pid, link) or holder
    on = shown(link) or (f"a file (inode {inode})" if inode else "a file")
    told = around.named(holder) if holder else ""
    return replace(found, does="waits-for-lock", on=on, holder=told)


def _opens(found: ProcessActivity, call: Call, around: Surroundings) -> ProcessActivity:
    """The name is in its memory, where we do not look."""
    if "fifo" in found.waits_in or "partner" in found.waits_in:
        return replace(found, does="reads", on="a FIFO whose other end nobody opens")
    return replace(found, does=does_in(found.waits_in) or "reads", on="a file that it opens")


def _polls(found: ProcessActivity, call: Call, around: Surroundings) -> ProcessActivity:
    """Several things at once. To watch none of them is the old way to sleep."""
    counted = {"poll": 1, "ppoll": 1, "select": 0, "pselect6": 0}
    if call.name in counted and call.arguments and call.argument(counted[call.name]) == 0:
        return replace(found, does="sleeps")
    return replace(found, does="polls")


_Tell = Callable[[ProcessActivity, Call, Surroundings], ProcessActivity]
_BY_CALL: tuple[tuple[frozenset[str], _Tell], ...] = (
    (frozenset({"futex"}), _futex),
    (calls.SLEEPS | calls.SIGNALS, _sleeps),
    (calls.CHILDREN, _children),
    (calls.READS | calls.WRITES, _transfers),
    (calls.ASKS_SOCKET, _asks_socket),
    (calls.LOCKS, _lock),
    (calls.OPENS, _opens),
    (calls.POLLS, _polls),
)

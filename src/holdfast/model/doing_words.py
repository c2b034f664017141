"""What a task is doing, in words that need no rule: its own line, and what the kernel says."""

from collections.abc import Sequence

from holdfast.model.activity_facts import ActivitySeen, ProcessActivity
from holdfast.model.leaving import farewell
from holdfast.model.locks import LockWait, held_by, waits_of
from holdfast.model.stacks import Doing, Frame, doing, frames_of, main_thread
from holdfast.model.stance import COMPUTING_CORES, Stance, called_back, own_frame, stance_of
from holdfast.model.watch_facts import StacksSeen, ThreadStack
from holdfast.model.words import bytes_text

DEPTH_MAX = 4  # of children that wait for children
STARVED_SHARE = 0.2  # of the time, from which on it is worth a word
_AT_REST = frozenset({"waits-for-thread", "polls"})
MOVING = frozenset({"reads", "writes", "disk"})
# Functions around a call, which say nothing of what is called.
_WRAPPERS = frozenset({"error_handler", "wrapper", "wrapped", "inner", "__call__", "_call_impl"})
_JOINS = frozenset({"_shutdown", "_wait_for_tstate_lock", "join"})  # of threads
_VERBS = {
    "computes": "computes",
    "sleeps": "sleeps",
    "waits-for-child": "waits for a child process",
    "waits-for-thread": "waits for another thread",
    "reads": "reads",
    "writes": "writes",
    "waits-for-lock": "waits for a file lock",
    "waits-for-socket": "waits at a socket",
    "polls": "waits until something comes",
    "stopped": "is stopped (SIGSTOP)",
    "traced": "is held by a debugger",
    "disk": "is in uninterruptible I/O",
    "gone": "is dead, and nobody has taken note of it",
    "unknown": "does something that /proc does not tell",
}
_BY_STACK = {
    Doing.USER: "computes",
    Doing.LIBRARY: "computes",
    Doing.SLEEP: "sleeps",
    Doing.READING: "waits for what comes from outside",
    Doing.INPUT: "waits for its input",
    Doing.EXECUTE: "waits inside of its framework's step",
    Doing.SERVER: "waits for work",
    Doing.LOCK: "waits for another thread",
}


def doing_words(look: StacksSeen | None, activity: ActivitySeen | None) -> str:
    """`it sleeps at train.py:88 in wait_for_file`; what could not be seen is said."""
    main = main_thread(look) if look else None
    processes = activity.processes if activity else ()
    if look is None or main is None:
        known = (
            f"it {process_words(processes)}" if processes else "nothing is known of what it does"
        )
        return f"{known}{_dead(processes)} (its Python stack could not be read)"
    at = farewell(main)
    if at is not None:
        return f"it is at its end, in {at.name} ({at}){_lingers(look, main, at)}"
    called = next(iter(called_back(look)), None)
    thread = called or main
    words = _verb(look, thread, processes if thread is main else ())
    via = " in a thread that its framework waits for" if called is not None else ""
    return f"it {words[0]}{_place(thread)}{via}{words[1]}{_dead(processes)}"


def _dead(processes: Sequence[ProcessActivity]) -> str:
    """A child that did not end well, and of which its parent does not know yet."""
    one = next((one for one in processes[1:] if one.does == "gone" and one.on), None)
    if one is None:
        return ""
    return f"; pid {one.pid} below it is dead ({one.on}), and nobody has taken note of it"


def _lingers(look: StacksSeen, main: ThreadStack, at: Frame) -> str:
    """A thread of the program for which Python waits before it leaves."""
    others = (other for other in look.threads if other is not main)
    staying = next((other for other in others if own_frame(other) is not None), None)
    if at.name not in _JOINS or staying is None:
        return ""
    return f", waiting for thread {staying.name or staying.thread}{_place(staying)}"


def is_working(look: StacksSeen | None, activity: ActivitySeen | None) -> bool:
    """Whether it, or a process below it, computes, reads or writes: that may end by itself."""
    processes = activity.processes if activity else ()
    if any(map(_works, processes)):
        return True
    main = main_thread(look) if look else None
    # A device may compute while its process waits for it.
    runs = main is not None and main.running and not main.blocked
    return runs or stance_of(look, activity) is Stance.STEP


def _works(one: ProcessActivity) -> bool:
    """A pipe or a terminal from which nothing comes is no work, however long it is read."""
    moves = one.does in MOVING and one.moved_bytes != 0
    return moves or one.does == "computes" or one.cores >= COMPUTING_CORES


def stopped_child(activity: ActivitySeen | None) -> ProcessActivity | None:
    """A process that is waited for and cannot go on by itself."""
    processes = activity.processes if activity else ()
    waits = {one.pid for one in processes if one.does == "waits-for-child"}
    held = (one for one in processes[1:] if one.does in {"stopped", "traced"})
    return next((one for one in held if one.parent in waits), None)


def _verb(
    look: StacksSeen, thread: ThreadStack, processes: Sequence[ProcessActivity]
) -> tuple[str, str]:
    """What it does, and what is to be said behind the place."""
    what = doing(thread)
    kernel = processes[0] if processes else None
    if thread.has_gil and thread.blocked:
        return "holds the interpreter's lock inside native code", _details(kernel, processes)
    lock = next((wait for wait in waits_of(look) if wait.thread is thread), None)
    if lock is not None:
        return "waits for a lock or another thread", _holder(look, lock)
    if what in {Doing.EXECUTE, Doing.INPUT, Doing.SERVER}:
        busy = kernel is not None and kernel.cores >= COMPUTING_CORES
        cores = f", {kernel.cores:.1f} cores in native threads" if kernel and busy else ""
        verb = "computes inside of its framework" if busy else _BY_STACK[what]
        return verb, cores
    if kernel is not None and kernel.does not in {*_AT_REST, "unknown"}:
        return _VERBS[kernel.does], _details(kernel, processes)
    if thread.blocked in {"waker", "shared"} and not thread.running:
        return "waits in native code", ""
    # A stack that was taken without py-spy does not tell whether its thread runs: the kernel does.
    waits = kernel is not None and kernel.does in _AT_REST and kernel.cores < COMPUTING_CORES
    if kernel is not None and waits and what in {Doing.USER, Doing.LIBRARY}:
        return _VERBS[kernel.does], _details(kernel, processes)
    return _BY_STACK.get(what, "does something that cannot be read"), _details(kernel, processes)


def _place(thread: ThreadStack) -> str:
    """Its own line, its function, and the call that it is in there."""
    own, frames = own_frame(thread), frames_of(thread)
    if own is None:
        return f" in {frames[-1].name} ({frames[-1]})" if frames else ""
    at = len(frames) - 1 - frames[::-1].index(own)
    calls = (frame.called for frame in frames[at + 1 :])
    call = next((name for name in calls if name not in _WRAPPERS), "")
    inside = f", inside {call}" if call else ""
    return f" at {own} in {own.name}{inside}"


def _holder(look: StacksSeen, wait: LockWait) -> str:
    for other in look.threads:
        for held in held_by(other):
            same = wait.lock and (held.lock, held.file) == (wait.lock, wait.at.file)
            if same and other is not wait.thread:
                return f": {wait.lock} is held by thread {other.name or other.thread} since {held}"
            if same:
                return f": it holds {wait.lock} itself, since {held}"
    return ""


def process_words(processes: Sequence[ProcessActivity]) -> str:
    """What the kernel says of the first of these, and of those that it waits for."""
    first = processes[0]
    return f"{_VERBS.get(first.does, first.does)}{_details(first, processes)}"


def _details(
    one: ProcessActivity | None, processes: Sequence[ProcessActivity], depth: int = 0
) -> str:
    """What the kernel tells beside the verb: cores, files, peers, holders, children."""
    if one is None:
        return ""
    parts = ""
    if one.does == "waits-for-child":
        return _children(one, processes, depth)
    if one.does == "computes":
        native = one.main_cores < one.cores / 2
        parts = f", {one.cores:.1f} cores{' in native threads' if native else ''}"
    elif one.on:
        parts = f" ({one.on})"
    if one.holder.startswith(f"pid {one.pid} "):
        parts += ", of which it holds the other end itself"
    elif one.holder:
        parts += f", held by {one.holder}"
    if one.does in {"reads", "writes"} and one.moved_bytes >= 0:
        moved = bytes_text(one.moved_bytes) if one.moved_bytes else "nothing"
        parts += f", {moved} moved meanwhile"
    if one.starved_share >= STARVED_SHARE:
        parts += f", and wanted a core and got none {one.starved_share:.0%} of the time"
    return parts


def _children(one: ProcessActivity, processes: Sequence[ProcessActivity], depth: int) -> str:
    child = next((other for other in processes if other.parent == one.pid), None)
    if child is None or depth >= DEPTH_MAX:
        return f": {one.on}" if one.on else ""
    verb, rest = _VERBS.get(child.does, child.does), _details(child, processes, depth + 1)
    return f": pid {child.pid} ({child.command}), which {verb}{rest}"

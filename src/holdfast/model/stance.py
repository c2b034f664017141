"""Where a task stands among the others: at something of its own, or inside of a wait for them.

No rule of any cause is asked here. Whoever waits inside of its framework can only be helped by
others; whoever is anywhere else keeps them waiting, whatever it does there.
"""

from collections.abc import Iterator
from enum import StrEnum

from holdfast.model.activity_facts import ActivitySeen
from holdfast.model.frameworks import PLACES, is_of_framework
from holdfast.model.leaving import farewell
from holdfast.model.stacks import Doing, Frame, doing, frames_of, main_thread
from holdfast.model.watch_facts import StacksSeen, ThreadStack

# The kernel's names for waits in which a connection may be what is waited for.
_BY_THREADS = frozenset({"", "waker", "shared", "timer"})
_OF_PYTHON = ("lib/python", "<frozen ")
# A blocking call of TCP itself sleeps in `wait_woken`.
_ON_SOCKETS = (
    *("sk_", "unix_", "inet_", "tcp_", "wait_woken"),
    *("poll", "do_poll", "ep_", "do_epoll", "do_select"),
)
# What reads the input of a task waits for nobody of the others.
_LOADERS = tuple(f"{place}torch/utils/data/" for place in PLACES)
COMPUTING_CORES = 0.3
_OWN_BY_KERNEL = frozenset(
    {
        *("computes", "sleeps", "reads", "writes", "waits-for-child", "waits-for-lock"),
        *("stopped", "traced", "disk"),
    }
)


class Stance(StrEnum):
    OWN = "is at something of its own"
    CALLED_BACK = "its framework waits for code of its own"
    COMPUTES = "computes inside of its framework"
    STEP = "waits inside of its framework"
    NATIVE = "waits in native code"  # for others, or for something of its own
    SERVES = "waits for work"
    LEAVES = "is at its end"
    GONE = "has ended"
    UNKNOWN = "could not be read"


def is_framework(frame: Frame) -> bool:
    return is_of_framework(frame.file) and not frame.file.startswith(_LOADERS)


def own_frame(thread: ThreadStack) -> Frame | None:
    """The innermost frame of the program itself; of an installed one, of its package."""
    frames = frames_of(thread)[::-1]
    own = next((frame for frame in frames if not frame.is_library), None)
    installed = (frame for frame in frames if frame.file.startswith(PLACES))
    return own or next((frame for frame in installed if not is_framework(frame)), None)


def called_back(look: StacksSeen) -> Iterator[ThreadStack]:
    """Threads in which the framework runs code of the program: generators, py_function, hooks."""
    for thread in look.threads[1:]:
        own = own_frame(thread)
        frames = frames_of(thread)
        if own is not None and any(map(is_framework, frames[: frames.index(own)])):
            yield thread


def stance_of(look: StacksSeen | None, activity: ActivitySeen | None) -> Stance:
    """By the stack of its main thread; where there is none, by what the kernel says."""
    main = main_thread(look) if look else None
    if look is None or main is None:
        return _by_kernel(activity)
    if farewell(main) is not None or _closes(main):
        return Stance.LEAVES
    what = doing(main)
    if what is Doing.SERVER:
        return Stance.SERVES
    if is_in_framework(main):
        return _in_framework(look, main, what, activity)
    if main.has_gil and main.blocked:
        return Stance.OWN
    woken = main.blocked == "waker" and what in {Doing.USER, Doing.LIBRARY}
    return Stance.NATIVE if woken or main.blocked == "shared" else Stance.OWN


def leaves_together(look: StacksSeen | None) -> bool:
    """Whether it is at its end inside of its framework, where members wait for each other."""
    main = main_thread(look) if look else None
    return main is not None and farewell(main) is not None and is_in_framework(main)


def is_in_framework(thread: ThreadStack) -> bool:
    """Whether its framework made the call that it is in, be it to a lock or a pool of Python's."""
    return is_framework(_waits_at(thread))


def _closes(main: ThreadStack) -> bool:
    """Whether it only waits for its session to end: no step of anybody hangs on that."""
    innermost = frames_of(main)[-1:]
    return any(
        is_framework(frame) and frame.name.rpartition(".")[2] == "close" for frame in innermost
    )


def _in_framework(
    look: StacksSeen, main: ThreadStack, what: Doing, activity: ActivitySeen | None
) -> Stance:
    if any(called_back(look)):
        return Stance.CALLED_BACK
    elsewhere = main.blocked not in _BY_THREADS and not main.blocked.startswith(_ON_SOCKETS)
    if what is Doing.INPUT or elsewhere:
        return Stance.OWN  # in a file, or stopped
    runs = main.running and not main.blocked
    if runs and what is not Doing.EXECUTE:
        return Stance.OWN  # it traces, compiles or prepares
    return Stance.COMPUTES if runs or computes(activity) else Stance.STEP


def _waits_at(main: ThreadStack) -> Frame:
    """Where its innermost call is from: below what Python's own locks, queues and pools add."""
    frames = frames_of(main)
    calls = (frame for frame in reversed(frames) if not frame.file.startswith(_OF_PYTHON))
    return next(calls, frames[-1])


def computes(activity: ActivitySeen | None) -> bool:
    processes = activity.processes[:1] if activity else ()
    return any(one.cores >= COMPUTING_CORES for one in processes)


def _by_kernel(activity: ActivitySeen | None) -> Stance:
    does = activity.processes[0].does if activity and activity.processes else ""
    return Stance.OWN if does in _OWN_BY_KERNEL else Stance.UNKNOWN

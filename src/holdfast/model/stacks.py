"""What a thread does, by its frames and by what the kernel says of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from holdfast.model.cluster import TaskId
from holdfast.model.watch_facts import StacksSeen, ThreadStack
from holdfast.model.words import listed

_LIBRARY_STARTS = ("site-packages/", "dist-packages/", "lib/python", "<frozen ")
_RUNTIME_CALLS = ("TFE_Py_", "TF_SessionRun", "TFE_Execute", "TF_Run")
_RUNTIME = frozenset({"quick_execute", "execute_with_cancellation", "_call_tf_sessionrun"})
_NEXT = frozenset({"iterator_get_next", "get_next", "_next_internal", "__next__"})
_NEXT_PLACES = ("/data/", "gen_dataset_ops", "input_lib")
_REDUCE_PLACES = ("cross_device", "gen_collective_ops", "collective_ops")
_WAIT_FILES = ("threading.py", "queue.py", "concurrent/futures/_base.py")
_READ_FILES = ("socket.py", "ssl.py", "selectors.py", "subprocess.py", "fileinput.py")
_READ_CALLS = (
    *(".recv(", ".recv_into(", ".accept(", ".connect(", ".read(", ".readline(", ".poll("),
    *("os.read(", "select(", "input(", ".flock(", ".lockf(", "os.wait"),
)
_COORDINATOR = "tensorflow/python/distribute/coordinator/"
_TENSORFLOW = ("site-packages/tensorflow/", "dist-packages/tensorflow/")


class Doing(StrEnum):
    """What a thread is at, as far as its stack tells."""

    EXECUTE = "executes TensorFlow's step"  # a collective that waits for others looks like that
    INPUT = "waits for its input"
    LOCK = "waits for another thread"
    SLEEP = "waits for a while"  # it will go on by itself
    READING = "waits for what comes from outside"
    SERVER = "waits for work"
    USER = "is in the user's own code"
    LIBRARY = "is in a library"
    UNKNOWN = "could not be read"


@dataclass(frozen=True, slots=True)
class Frame:
    """One line of a stack."""

    file: str
    line: int
    function: str
    code: str

    @property
    def name(self) -> str:
        """The function, without the classes around it."""
        return self.function.rpartition(".")[2]

    @property
    def called(self) -> str:
        """What its caller calls: of a class, its name."""
        owner, _, name = self.function.rpartition(".")
        return owner.rpartition(".")[2] if name == "__init__" and owner else name

    @property
    def is_library(self) -> bool:
        return self.file.startswith(_LIBRARY_STARTS)

    @property
    def is_tensorflow(self) -> bool:
        return self.file.startswith(_TENSORFLOW)

    def __str__(self) -> str:
        return f"{self.file.rpartition('/')[2]}:{self.line}"


def frame_of(text: str) -> Frame:
    """What `file:line function: code` says. Never fails: frames come from a stranger's memory."""
    where, _, code = text.partition(": ")
    place, _, function = where.rpartition(" ")
    file, _, line = place.rpartition(":")
    known = line.isascii() and line.isdigit()
    return Frame(file, int(line), function, code) if known else Frame(text, 0, "", "")


def frames_of(thread: ThreadStack) -> tuple[Frame, ...]:
    """Outermost first."""
    return tuple(map(frame_of, thread.frames))


def main_thread(seen: StacksSeen) -> ThreadStack | None:
    """The first, if anything of it could be read."""
    first = next(iter(seen.threads), None)
    return first if first is not None and first.frames else None


def user_frame(thread: ThreadStack) -> Frame | None:
    """The innermost frame in the user's own code."""
    return next((frame for frame in reversed(frames_of(thread)) if not frame.is_library), None)


def doing(thread: ThreadStack) -> Doing:
    """Judged by the innermost frames: what blocks in C stands at the line that called it."""
    frames = frames_of(thread)
    if not frames:
        return Doing.UNKNOWN
    inner = frames[-1]
    if inner.is_tensorflow:
        return _in_tensorflow(frames, thread.blocked)
    if thread.running:
        return Doing.LIBRARY if inner.is_library else Doing.USER
    waits = _waits_for_thread(inner, thread.blocked)
    if thread.blocked == "timer" or (not thread.blocked and _is_timed(inner, waiting=waits)):
        return Doing.SLEEP
    if waits:
        return _who_is_waited_for(frames)
    if thread.blocked not in {"", "waker"} or _is_reading(inner):
        return Doing.READING
    if _is_pool(inner):
        return Doing.SERVER
    # Blocked, at a line that calls something in C which we do not know.
    return Doing.LIBRARY if inner.is_library or thread.blocked else Doing.USER


def _in_tensorflow(frames: tuple[Frame, ...], blocked: str) -> Doing:
    inner = frames[-1]
    if blocked not in {"", "waker", "timer", "shared"}:
        # A step waits in no file or socket; and a process that was stopped is not in it either.
        return Doing.READING
    in_runtime = inner.name in _RUNTIME or any(call in inner.code for call in _RUNTIME_CALLS)
    if in_runtime:
        own = [frame for frame in frames if frame.is_tensorflow]
        reduces = any(place in frame.file for frame in own for place in _REDUCE_PLACES)
        nexts = any(
            frame.name in _NEXT and any(place in frame.file for place in _NEXT_PLACES)
            for frame in own
        )
        return Doing.INPUT if nexts and not reduces else Doing.EXECUTE
    is_join = inner.name == "join" and "server_lib" in inner.file
    return Doing.SERVER if is_join else Doing.LIBRARY


def _waits_for_thread(inner: Frame, blocked: str) -> bool:
    if blocked not in {"", "waker", "timer"}:
        return False
    if inner.is_library and inner.file.endswith(_WAIT_FILES):
        return ".acquire(" in inner.code or inner.name in {"wait", "_wait_for_tstate_lock", "join"}
    return _enters_lock(inner) or ".acquire(" in inner.code


def _enters_lock(inner: Frame) -> bool:
    """At `with lock:`, and not at `with open(…):`, which calls something."""
    head, _, rest = inner.code.removeprefix("async ").partition(" ")
    entered, colon, _ = rest.partition(":")
    return head == "with" and bool(colon) and "(" not in entered


def _is_timed(inner: Frame, *, waiting: bool) -> bool:
    if waiting:
        return "timeout" in inner.code
    return "sleep(" in inner.code


def _who_is_waited_for(frames: tuple[Frame, ...]) -> Doing:
    """A thread of a library that waits with nothing of the user's under it waits for work."""
    caller = next((frame for frame in reversed(frames) if not _is_waiting_file(frame)), frames[0])
    if _COORDINATOR in caller.file or all(frame.is_library for frame in frames):
        return Doing.SERVER
    return Doing.LOCK


def _is_waiting_file(frame: Frame) -> bool:
    return frame.is_library and frame.file.endswith(_WAIT_FILES)


def _is_reading(inner: Frame) -> bool:
    if inner.is_library and (inner.file.endswith(_READ_FILES) or "/multiprocessing/" in inner.file):
        return True
    return any(call in inner.code for call in _READ_CALLS)


def _is_pool(inner: Frame) -> bool:
    return inner.name == "_worker" and inner.file.endswith("concurrent/futures/thread.py")


def place_of(thread: ThreadStack) -> tuple[str, ...]:
    """Where a thread stands: the same for all who stand there, wherever their files lie."""
    frames = frames_of(thread)
    near = [frames[-1], *filter(None, (user_frame(thread),))] if frames else []
    return tuple(f"{frame} {frame.name}" for frame in dict.fromkeys(near))


def unmoved(seen: list[StacksSeen], *, over_s: float) -> list[StacksSeen]:
    """The newest looks in which the main thread stands at the same place, if for long enough."""
    kept: list[StacksSeen] = []
    for look in sorted(seen, key=lambda fact: fact.at_s, reverse=True):
        if kept and not _same_main(look, kept[0]):
            break
        kept.insert(0, look)
    lasts = len(kept) > 1 and kept[-1].at_s - kept[0].at_s >= over_s
    return kept if lasts and main_thread(kept[-1]) else []


def _same_main(one: StacksSeen, other: StacksSeen) -> bool:
    mains = main_thread(one), main_thread(other)
    frames = [main.frames if main else () for main in mains]
    return one.pid == other.pid and frames[0] == frames[1]


@dataclass(frozen=True, slots=True)
class Group:
    """Tasks whose main threads stand at the same place."""

    tasks: tuple[TaskId, ...]
    doing: Doing
    place: tuple[str, ...]
    stack: ThreadStack | None  # of the first of them; None: nobody could look

    @property
    def says(self) -> str:
        count = len(self.tasks)
        who = listed(self.tasks) if count <= NAMED_MAX else f"{count} tasks"
        if self.stack is None:
            return f"{who}: {self.doing}"
        inner, *own = self.place
        called = f", called at {own[0]}" if own else ""
        last = frames_of(self.stack)[-1]
        code = f": {last.code}" if last.code and not last.is_library else ""
        return f"{who} in {inner}{code}{called}"


NAMED_MAX = 3  # more tasks than that are counted


def merged(stacks: Mapping[TaskId, StacksSeen]) -> tuple[Group, ...]:
    """Who stands where: the largest group first, so that the odd one comes last."""
    found: dict[tuple[Doing, tuple[str, ...]], list[TaskId]] = {}
    for task in sorted(stacks):
        main = main_thread(stacks[task])
        key = (doing(main), place_of(main)) if main else (Doing.UNKNOWN, ())
        found.setdefault(key, []).append(task)
    groups = [
        Group(tuple(tasks), what, place, main_thread(stacks[tasks[0]]))
        for (what, place), tasks in found.items()
    ]
    return tuple(sorted(groups, key=lambda group: (-len(group.tasks), group.tasks[0])))

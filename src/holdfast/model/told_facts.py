"""What a task's own program has told of itself. One class per kind, as in facts.py."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from holdfast.model.facts import Fact, TracebackSeen

MAIN_THREAD = "MainThread"


@dataclass(frozen=True, slots=True, kw_only=True)
class LossTold(Fact):
    """What has become of a task's loss. Told when that changes, and again while it lasts."""

    name: str  # loss, or whatever the program calls it
    state: str  # fine, nan (not a number, or infinite), diverged
    step: int
    since_step: int = -1  # the first step that was told so
    loss: float = 0.0  # where it is a number
    first: float = 0.0  # what it was at the beginning
    tells: int = 1  # how often in a row it was told so


@dataclass(frozen=True, slots=True, kw_only=True)
class DifferenceTold(Fact):
    """Before its first step a task has found that not all tasks have built the same."""

    about: str  # variable, layer, optimizer, loss, strategy, graph, input, version, setting
    name: str  # which variable, layer or setting
    values: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # what -> the tasks with it
    odd: tuple[str, ...] = ()  # who differs from most of all tasks, as far as the program knew
    stops: bool = True  # whether the program ends over it


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorTold(Fact):
    """An error of TensorFlow that a guard in the program saw."""

    exception: str
    message: str
    code: str = ""  # UNAVAILABLE, ABORTED
    op: str = ""
    named: tuple[str, ...] = ()  # the tasks that its message speaks of
    tries: int = 1
    again: bool = False  # whether it is tried once more
    at: str = ""  # the innermost line of Python: file:line function


@dataclass(frozen=True, slots=True, kw_only=True)
class ExceptionLogged(Fact):
    """An exception in a log file of a task's own. Told once, and then with a count."""

    path: str
    exception: str
    message: str
    frames: tuple[str, ...] = ()  # as of TracebackSeen
    record: str = ""  # the line above it: what the program itself says of it
    times: int = 1  # so often so far, raised at the same line


@dataclass(frozen=True, slots=True, kw_only=True)
class ExceptionLeft(TracebackSeen):
    """An exception that the program itself wrote down: not parsed, whole, of a known thread."""

    pid: int = 0  # of the process, which may be a child of the task's own
    thread: str = MAIN_THREAD
    step: int = -1  # the last that was told; -1: none was
    code: str = ""  # of TensorFlow's errors: UNAVAILABLE, ABORTED
    op: str = ""
    in_graph: str = ""  # the op's own name there
    named: tuple[str, ...] = ()  # the tasks that its message speaks of
    came_from: tuple[str, ...] = ()  # what it was raised over: KeyError: 'row', the nearest first
    came_from_at: tuple[str, ...] = ()  # the line of each: train.py:9 rows; empty: not known
    file: str = ""  # the HDF5 file that it opened or had open, and the mode in which
    mode: str = ""
    guarded: bool = False  # seen by a guard, and nobody knows whether it ended the program

    @property
    def ended_its_process(self) -> bool:
        """Whether Python ends with it: exceptions of other threads end only these."""
        return self.thread == MAIN_THREAD and not self.guarded

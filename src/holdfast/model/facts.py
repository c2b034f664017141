"""What was seen, by whom, when. One class per kind of thing that can be seen."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from holdfast.model.cluster import TaskId

SCHEMA_VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    at_s: float  # since the attempt began, on the coordinator's clock
    host: str
    task: TaskId | None = None  # None: about the host or the job, not one task
    attempt: int = 1
    # Fields written by a newer Holdfast: kept, so that a round trip loses nothing.
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class UnknownFact(Fact):
    """A kind of fact that only a newer Holdfast knows. Its fields are all in `extra`."""

    kind: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptStarted(Fact):
    began_unix_s: float  # the wall clock when at_s was 0
    tasks: tuple[str, ...]
    holdfast: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskStarted(Fact):
    pid: int
    address: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskNotStarted(Fact):
    """The operating system refused to execute the command."""

    command: str
    errno_name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskExited(Fact):
    """How a task's own process ended: exactly one of exit_code and signal is set."""

    exit_code: int | None = None
    signal: int | None = None
    core_dumped: bool = False
    core_pattern: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogLine(Fact):
    """A line that some cause listens for. `at_s` is when we read it, not when it was written."""

    text: str
    stream: str = "err"
    line: int = 0  # counted from 1; 0 when it was read from the end and nobody counted
    offset: int = 0  # of the line's first byte: two readings of one line are one fact


@dataclass(frozen=True, slots=True, kw_only=True)
class TracebackSeen(Fact):
    """A Python traceback: the exception that ended it, and where it was raised."""

    exception: str  # as printed: ValueError, or tensorflow...errors_impl.UnavailableError
    message: str
    frames: tuple[str, ...] = ()  # file:line function: code, outermost first
    stream: str = "err"
    line: int = 0
    offset: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class LastWords(Fact):
    """The last lines that a task left behind, read when it ended."""

    lines: tuple[str, ...]
    stream: str = "err"


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputEnded(Fact):
    """A task's stream was read to its end: what it did not say, it did not write."""

    stream: str
    bytes_total: int
    lines_total: int
    lines_heard: int
    lines_left_out: int = 0  # heard, but beyond the bound on how many we keep


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputReleased(Fact):
    """Old output given back to the disk, as --keep-bytes asked: `until` is the first kept byte."""

    stream: str
    until: int
    bytes_released: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SignalSent(Fact):
    """We sent a signal: whoever dies of it did not fail."""

    signal: int
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StopAsked(Fact):
    """Somebody outside asked for the end: ctrl-c, SIGTERM, `holdfast stop`."""

    by: str
    signal: int
    now: bool = False  # no grace: kill at once


@dataclass(frozen=True, slots=True, kw_only=True)
class SignalAsked(Fact):
    """Somebody outside wants every task to get a signal that is not meant to end it."""

    by: str
    signal: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskIdle(Fact):
    """A task burnt no CPU, wrote nothing and waits for no timer for `idle_s`."""

    idle_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelKilledForMemory(Fact):
    """The kernel's own record of an OOM kill."""

    pid: int
    process: str
    rss_bytes: int
    cgroup: str = ""  # whose limit was hit; empty: the whole host ran out


@dataclass(frozen=True, slots=True, kw_only=True)
class CgroupKilledForMemory(Fact):
    """The OOM-kill counter of a task's memory cgroup went up."""

    cgroup: str
    kills: int
    limit_bytes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskMeasured(Fact):
    path: str
    free_bytes: int
    total_bytes: int
    free_inodes: int = -1  # -1: this file system does not count them
    purpose: str = ""  # what lies there: logs, work


@dataclass(frozen=True, slots=True, kw_only=True)
class PortHeld(Fact):
    """Somebody listens on the port that `task` needs."""

    port: int
    pid: int | None = None  # None: a process of another user, which we may not see
    command: str = ""
    user: str = ""
    holder: TaskId | None = None  # when it is a task of this very job


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitSeen(Fact):
    """A resource limit that a task runs under, when it matters for how it ended."""

    limit: str
    soft: int
    used: int = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeBlind(Fact):
    """A probe could not look, so what it would have seen stays unknown."""

    probe: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftoverEnded(Fact):
    """A process that a task left behind, ended by us when the job was over."""

    pid: int
    command: str
    signal: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TimePassed(Fact):
    """The coordinator's tick: how deadlines and silence enter the journal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptEnded(Fact):
    exit_code: int
    why: str

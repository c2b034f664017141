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
    hang_after_s: float = 0.0  # a standstill of so long is an error; 0: nobody said
    start_deadline_s: float = 0.0  # by then the cluster must be up; 0: it may take for ever


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
    """How a task's own process ended: by exit_code or signal; with neither, nobody saw how."""

    exit_code: int | None = None
    signal: int | None = None
    core_dumped: bool = False
    core_pattern: str = ""

    @property
    def unseen(self) -> bool:
        return self.exit_code is None and self.signal is None


@dataclass(frozen=True, slots=True, kw_only=True)
class LogLine(Fact):
    """A line that some cause listens for. `at_s` is when we read it, not when it was written."""

    text: str
    stream: str = "err"
    line: int = 0  # counted from 1; 0 when it was read from the end and nobody counted
    offset: int = 0  # of the line's first byte: two readings of one line are one fact
    source: str = ""  # the file it was read from, where that is not this run's own log
    level: str = ""  # as the program has it: I, W, E, F; empty: it does not say


@dataclass(frozen=True, slots=True, kw_only=True)
class TracebackSeen(Fact):
    """A Python traceback: the exception that ended it, and where it was raised."""

    exception: str  # as printed: ValueError, or tensorflow...errors_impl.UnavailableError
    message: str
    frames: tuple[str, ...] = ()  # file:line function: code, outermost first
    stream: str = "err"
    line: int = 0
    offset: int = 0
    source: str = ""
    follows: str = ""  # the traceback above it: as its "cause", or in the "context" of handling it


@dataclass(frozen=True, slots=True, kw_only=True)
class LastWords(Fact):
    """The last lines that a task left behind, read when it ended."""

    lines: tuple[str, ...]
    stream: str = "err"
    source: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputEnded(Fact):
    """A task's stream was read to its end: what it did not say, it did not write."""

    stream: str
    bytes_total: int
    lines_total: int
    lines_heard: int
    lines_left_out: int = 0  # heard, but beyond the bound on how many we keep
    source: str = ""


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
    timers: bool = False  # nobody looked for timers: it may go on by itself


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
    total_inodes: int = -1
    device: str = ""  # that holds it, as the kernel's log calls it: sda1
    left_s: float = -1.0  # until it is full, at the pace of the last minute; -1: nobody can say


@dataclass(frozen=True, slots=True, kw_only=True)
class PortHeld(Fact):
    """Somebody listens on the port that `task` needs."""

    port: int
    pid: int | None = None  # None: a process of another user, which we may not see
    command: str = ""
    user: str = ""
    holder: TaskId | None = None  # when it is a task of this very job


@dataclass(frozen=True, slots=True, kw_only=True)
class SpecRead(Fact):
    """A cluster definition as one task, file or process has it; `task` is whom it belongs to."""

    source: str  # where it was read: a file's name, TF_CONFIG, pid 4711
    cluster: Mapping[str, Mapping[str, str]]  # role -> index -> address, all as written
    role: str = ""  # of the task it says it is for, as written
    index: str = ""
    index_is_text: bool = False  # "1" instead of 1: TensorFlow takes it, others do not
    pid: int = 0  # whose environment it is; 0: not of a process
    given: bool = False  # what we handed out ourselves, not what somebody uses
    bare: bool = False  # only addresses were named: seen from outside, as an evaluator has it


@dataclass(frozen=True, slots=True, kw_only=True)
class SpecUnreadable(Fact):
    """A cluster definition that nobody can use. The place counts from 1; 0 is unknown."""

    source: str
    mistake: str  # one of MISTAKES in model/spec.py
    line: int = 0
    column: int = 0
    excerpt: str = ""
    pid: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PathProbed(Fact):
    """One look at an address: from `host`, and from `task`'s own place where that is known."""

    address: str
    outcome: str  # one of those in model/path.py
    target: TaskId | None = None  # whom the definition expects there
    says: str = ""  # the error, in the words of whoever raised it
    ips: tuple[str, ...] = ()  # what the name resolves to, all families
    took_s: float = 0.0
    name: str = ""  # what the server there calls itself: worker:1
    incarnation: int = 0
    devices: tuple[str, ...] = ()  # CPU:0, GPU:1
    memory_bytes: int = 0  # the limit of its largest device


@dataclass(frozen=True, slots=True, kw_only=True)
class Attached(Fact):
    """Somebody asks how a cluster stands that should be up: who is missing now is missed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PathMeasured(Fact):
    """How fast and how sure a path is, from several tries."""

    address: str
    tries: int
    lost: int
    p50_s: float
    p99_s: float
    target: TaskId | None = None
    bytes_per_s: float = 0.0  # 0: not measured


@dataclass(frozen=True, slots=True, kw_only=True)
class PeersListed(Fact):
    """Whom `task` can see, by its own word; it gives none while one of them is missing."""

    address: str
    answered: bool
    sees: Mapping[str, int] = field(default_factory=dict)  # worker:1 -> its incarnation
    waited_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SocketsSeen(Fact):
    """The TCP sockets of a task's processes, as its own kernel has them."""

    listening: tuple[int, ...] = ()  # ports
    connected: tuple[str, ...] = ()  # addresses of the other end
    trying: tuple[str, ...] = ()  # asked for a connection, and no answer yet


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessSeen(Fact):
    """What a task's process was doing when we looked."""

    pid: int
    state: str  # the kernel's letter: T is stopped, D waits for storage
    cpu_s: float = 0.0
    loaded_tensorflow: bool = False
    lasting_s: float = 0.0  # it was so in every look of this long; 0: this is one look
    tracer: str = ""  # who holds it, of a state t: gdb (pid 4711)
    frozen: str = ""  # the cgroup that is frozen around it
    waits_in: str = ""  # the kernel's name for what its main thread waits in
    path: str = ""  # the file that its main thread waits for, where that can be known
    replaces: int = 0  # the process that trained for this task before


@dataclass(frozen=True, slots=True, kw_only=True)
class AddressNotHere(Fact):
    """An address at which a task of this host should listen belongs to another host."""

    address: str
    ips: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class HostMeasured(Fact):
    cpus: int
    memory_bytes: int
    memory_free_bytes: int
    cgroup_limit_bytes: int | None = None  # of the cgroup we run in
    tasks: tuple[str, ...] = ()  # of the definition, that belong on this host
    outgoing_ports: tuple[int, ...] = ()  # first and last that connections are given


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderMeasured(Fact):
    """What a directory can do. `works`, the reason why not, or empty where it was not tried."""

    path: str
    purpose: str  # logs, checkpoints, work
    filesystem: str = ""  # ext4, nfs4, tmpfs
    write: str = ""
    locks: str = ""
    append: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockMeasured(Fact):
    """How far this host's clock is ahead of a reference that other hosts can measure, too."""

    against: str = ""  # what it was compared with; empty: with nothing
    offset_s: float = 0.0
    error_s: float = 0.0
    synchronised: bool | None = None  # what the kernel thinks; None: it does not say


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvironmentSeen(Fact):
    """The variables that decide how gRPC finds its peers, without secrets."""

    variables: Mapping[str, str]
    pid: int = 0  # 0: those that a task would inherit from here


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionsSeen(Fact):
    """What a task's interpreter would import, or has imported."""

    interpreter: str
    versions: Mapping[str, str]  # python, tensorflow, protobuf, grpcio, numpy, keras, cuda


@dataclass(frozen=True, slots=True, kw_only=True)
class StartWaits(Fact):
    """The start-up stands still for now: who waits, and for whom. It may only be slow."""

    missing: tuple[str, ...]  # none: it goes on again
    waiting: tuple[str, ...]
    says: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StartBlocked(Fact):
    """The deadline of the start-up has passed, and some still wait for others."""

    deadline_s: float
    missing: tuple[str, ...]
    waiting: tuple[str, ...]


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
    """A process that a task left behind, ended by us when the job was over, or it restarted."""

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

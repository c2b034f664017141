"""What is seen of tasks and hosts while a job trains. One class per kind, as in facts.py."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from holdfast.model.cluster import TaskId
from holdfast.model.facts import Fact


@dataclass(frozen=True, slots=True, kw_only=True)
class StepsSeen(Fact):
    """How far a task's training has come, and where that was read."""

    step: int
    source: str  # told (by the program itself), keras, log, checkpoint, events
    step_s: float = 0.0  # how long one step usually takes; 0: not known yet


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderWritten(Fact):
    """A task has a file open in a folder in which it takes itself for the only writer."""

    what: str  # summaries, checkpoints
    folder: str
    server: str = ""  # server:/export, where other hosts may have the same; empty: of this host


@dataclass(frozen=True, slots=True, kw_only=True)
class FileWritten(Fact):
    """A task has an HDF5 file open for writing, and nobody who has it open holds a lock on it."""

    path: str
    server: str = ""  # as of FolderWritten
    beside: tuple[str, ...] = ()  # the tasks that had it open for writing at the same moments


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskStill(Fact):
    """No sign of progress for much longer than this task's own habit. Told again while it lasts."""

    still_s: float
    usual_s: float  # the longest pause that it usually makes; 0: it has no habit yet
    sign: str  # what stands still: steps, main thread, processes
    cpu_share: float = 0.0  # of one core, meanwhile


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskWaits(Fact):
    """It does nothing at all for longer than it ever did: it waits. Told again while it lasts.

    Of a task without habits: its main thread has not woken for long, whatever computes meanwhile.
    """

    waits_s: float  # 0: it goes on
    usual_s: float = 0.0  # the longest before; 0: it has no habit yet
    at_least: bool = False  # it did nothing at the first look already: who knows since when
    unstepped: bool = False  # it moves, but has told no step since its first


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskMoves(Fact):
    """A task that stood still goes on."""

    still_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskSlow(Fact):
    """A task that keeps the others waiting, step after step; `factor` 1: no longer."""

    factor: float  # how much slower than the others
    step_s: float
    others_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskSampled(Fact):
    """What a task's processes used over some seconds."""

    pid: int  # of the process that trains
    state: str  # the kernel's letter
    over_s: float
    cpu_share: float  # of one core, all its processes together
    starved_share: float = 0.0  # of the time its main thread wanted a core and got none
    throttled_share: float = 0.0  # of the time its CPU cgroup kept it from running
    rss_bytes: int = 0
    threads: int = 0
    files: int = 0  # open descriptors
    main_cpu_share: float = 0.0  # its main thread alone
    main_wakes: int = -1  # how often its main thread woke up; -1: not counted
    waits_in: str = ""  # the kernel's name for what its main thread waits in
    storage_share: float = 0.0  # of the time it waited for storage
    threads_starved_share: float = 0.0  # of the time all its threads wanted to run; 0: not asked
    quota_cores: float = 0.0  # that its CPU cgroup may use; 0: no limit
    quota_of: str = ""  # that cgroup
    runs_on: str = ""  # the cores that it may run on, as 0-3,8; empty: on all of its host
    read_bytes_per_s: float = -1.0  # from storage, since the sample before; -1: not known
    written_bytes_per_s: float = -1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class HostSampled(Fact):
    """What a host's resources were like over some seconds. -1: the kernel does not say."""

    over_s: float
    cpus: int
    busy_share: float  # of all its cores
    memory_bytes: int
    memory_free_bytes: int
    cpu_pressure: float = -1.0  # share of the time in which somebody waited for a core
    memory_pressure: float = -1.0
    io_pressure: float = -1.0
    segments_sent: int = 0  # TCP
    segments_again: int = 0  # sent again, because nobody acknowledged them
    others: Mapping[str, float] = field(default_factory=dict)  # other programs -> cores used
    # Since the sample before. By interface, where it carried anything; the loopback is `lo`.
    received_bytes_per_s: Mapping[str, float] = field(default_factory=dict)
    sent_bytes_per_s: Mapping[str, float] = field(default_factory=dict)
    read_bytes_per_s: float = -1.0  # of all its disks
    written_bytes_per_s: float = -1.0
    disk_busy_share: float = -1.0  # of the time, the busiest disk


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuSampled(Fact):
    """What a GPU says of itself; `task` is who uses it, where only one does."""

    gpu: int  # as CUDA_VISIBLE_DEVICES counts them
    name: str
    memory_bytes: int
    memory_used_bytes: int
    busy_share: float = -1.0  # -1: it does not say
    celsius: int = -1  # -1: it does not say
    slowed_by: str = ""  # heat, power; empty: nothing
    errors_not_corrected: int = -1  # of its memory; -1: not counted


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryNearsLimit(Fact):
    """At this growth the memory that a task may use is gone in `left_s`."""

    used_bytes: int
    limit_bytes: int
    growth_bytes_per_s: float
    left_s: float
    limit_of: str = ""  # the cgroup's path; empty: the whole host


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryNearlyFull(Fact):
    """Hardly any memory has been left for long. Told again while it lasts.

    `task` is who is alone below the limit. Cached files, which go when they are in the way, do
    not count as used.
    """

    used_bytes: int
    limit_bytes: int
    lasting_s: float  # without a look that found more room
    limit_of: str = ""  # the cgroup's path; empty: the whole host
    by_task: Mapping[str, int] = field(default_factory=dict)  # bytes of the biggest


@dataclass(frozen=True, slots=True, kw_only=True)
class LinksSampled(Fact):
    """What a task's connections to its busiest peers carried over some seconds, by peer."""

    over_s: float
    sent_bytes_per_s: Mapping[str, float]
    received_bytes_per_s: Mapping[str, float]
    # Of the time, it had something to send that waited for nothing but the network.
    network_share: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class FilesNearLimit(Fact):
    """A task has nearly as many files open as it may, or soon will have. Told again meanwhile."""

    pid: int
    used: int
    limit: int
    left_s: float = 0.0  # until the limit, at its pace; 0: their number does not grow


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkSeen(Fact):
    """A task's end of a connection to a peer, when its queue does not empty; both 0: it flows."""

    peer: TaskId
    address: str  # of the other end
    send_bytes: int = 0  # sent, and not acknowledged
    recv_bytes: int = 0  # arrived, and not read by the task
    retransmits: int = 0  # in a row, without an answer
    lasting_s: float = 0.0  # since when this queue does not empty
    # How often in the last minute what was sent again got through, on any link of the two.
    recovered: int = 0
    recovered_here: int = 0  # and on the links between them


@dataclass(frozen=True, slots=True)
class ThreadStack:
    """One Python thread: `file:line function: code`, outermost frame first."""

    thread: int
    frames: tuple[str, ...]
    name: str = ""
    running: bool = False  # on a core, or about to be
    holds: tuple[str, ...] = ()  # `file:line: code` of each `with` it stands in
    # In the kernel: waker (without a time-out, for a thread of its own process), timer, shared
    # (as waker, but maybe for another process), or the kernel's name for it. Empty: it runs.
    blocked: str = ""
    has_gil: bool = False  # it holds the interpreter's lock


@dataclass(frozen=True, slots=True, kw_only=True)
class StacksSeen(Fact):
    """What the Python threads of a task's process were doing at one moment."""

    pid: int
    threads: tuple[ThreadStack, ...]
    by: str = "py-spy"  # or faulthandler
    why: str = ""  # why anybody looked


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelSaid(Fact):
    """A line of the kernel's log that concerns a task or its host."""

    about: str  # io-error, segfault, gpu, hung-task
    text: str
    pid: int = 0
    process: str = ""
    device: str = ""  # the disk or GPU it speaks of


@dataclass(frozen=True, slots=True, kw_only=True)
class ObserverLate(Fact):
    """We ourselves did not get to look for so long: what we say of that time is worth little."""

    late_s: float
    observer: str = "watcher"


@dataclass(frozen=True, slots=True, kw_only=True)
class StateChanged(Fact):
    """A task went from one state to another, by all that is known now."""

    state: str  # one of those in model/states.py
    before: str
    says: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TakenOver(Fact):
    """A new supervisor holds the job; between `gone_s` and now nobody looked."""

    gone_s: float
    pid: int  # of the one that is gone


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceTaken(Fact):
    """A task that kept the others waiting recorded what it does, or said why it could not."""

    folder: str
    seconds: float
    from_step: int = -1  # -1: it did not tell
    to_step: int = -1
    error: str = ""  # empty: the trace is there


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildDied(Fact):
    """A process that a task had started died of a signal, and nobody had asked how it ended."""

    pid: int
    process: str  # the name of its program
    signal: int
    core_dumped: bool = False

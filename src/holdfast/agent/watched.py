"""A task of this host as the watcher sees it, and the shape of everybody who looks at it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from holdfast.model.cluster import TaskId
from holdfast.model.facts import Fact
from holdfast.probes import open_files

OpenFiles = tuple[tuple[str, str], ...]


@dataclass(slots=True, kw_only=True)
class Watched:
    """Filled anew before each round of looks."""

    task: TaskId
    pid: int  # of the process that was started for it
    address: str  # where its TensorFlow server listens; empty: it has none
    streams: Mapping[str, int]  # out, err -> a descriptor for reading
    pids: tuple[int, ...] = ()  # that process and all below it, nearest first
    # The process that trains, and as long as it lives: it has loaded TensorFlow, torch or JAX. As
    # long as nobody has, the nearest Python, else the last one.
    main: int = 0
    trains: bool = False  # whether it has
    state: str = ""  # of that process: the kernel's letter
    cpu_s: float = 0.0  # used so far by all of `pids`, each since it was found
    cpu_of: dict[int, float] = field(default_factory=dict)  # what each had used at the last look
    told_step: int = -1  # where its program says that the training is
    exchanged_per_s: float | None = None  # bytes, with its peers, where they were counted just now
    files: dict[int, OpenFiles] = field(default_factory=dict)  # by process, as read in this round

    def open_files(self, pid: int) -> OpenFiles:
        """Descriptors and paths of one of its processes: several looks want them, one reads."""
        if pid not in self.files:
            self.files[pid] = tuple(open_files(pid))
        return self.files[pid]


class Look(Protocol):
    """One kind of look. It never waits for a task, and keeps what it learned of each."""

    def look(self, tasks: Mapping[TaskId, Watched], at_s: float) -> Iterable[Fact]:
        """What is new, at most a few facts a task; called about once a second."""

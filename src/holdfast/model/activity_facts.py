"""What the processes of a task that stands still are doing, by what the kernel tells of them."""

from dataclasses import dataclass

from holdfast.model.facts import Fact


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessActivity:
    """One process, by its main thread, over the last moments."""

    pid: int
    parent: int
    command: str  # its command line, without secrets
    state: str  # the kernel's letter
    # computes, sleeps, waits-for-child, waits-for-thread, reads, writes, waits-for-lock,
    # waits-for-socket, polls, stopped, traced, disk, gone, unknown
    does: str
    on: str = ""  # the path, the pipe, the peer's address or the child that this is about
    holder: str = ""  # who holds the lock, or the other end of the pipe: `pid 4711 (python x.py)`
    call: str = ""  # the system call's name
    waits_in: str = ""  # the kernel's name for what it waits in
    cores: float = 0.0  # used by all its threads
    main_cores: float = 0.0  # by its main thread alone
    moved_bytes: int = -1  # read and written meanwhile; -1: the kernel does not say
    starved_share: float = 0.0  # of the time its main thread wanted a core and got none
    at: str = ""  # of a parent process: the program's own line, `start.py:19 in main`


@dataclass(frozen=True, slots=True, kw_only=True)
class ActivitySeen(Fact):
    """A task's processes: the one that trains first, then those below it, nearest first.

    Its parent process is the second where it should read what the first one writes.
    """

    over_s: float  # how long they were watched
    processes: tuple[ProcessActivity, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AddressesHeld(Fact):
    """The addresses in the variables of a program whose start stands; nothing else of them."""

    addresses: tuple[str, ...]

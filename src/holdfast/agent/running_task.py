"""A task of this host while it runs, as the agent holds it."""

import os
from dataclasses import dataclass, field

from holdfast.agent.holding import Record
from holdfast.agent.idle import IdleWatch
from holdfast.model.plan import PlannedTask


@dataclass(slots=True)
class RunningTask:
    planned: PlannedTask
    pid: int
    pidfd: int  # never another process's; -1: it was gone before we came
    streams: dict[str, int]  # for reading
    number: int = 1  # of its starts in this attempt
    ending: Record | None = None  # how it ended, by the holder's word
    cgroups: frozenset[str] = frozenset()  # the memory cgroups it has been in
    family: frozenset[int] = frozenset()  # its processes when we last looked
    dead: set[int] = field(default_factory=set)  # its children that are known to have crashed
    idle: IdleWatch | None = None

    def output_bytes(self) -> int:
        return sum(os.fstat(fd).st_size for fd in self.streams.values())

"""Which facts stay in memory: a job that trains for weeks must not fill it with samples."""

from collections import Counter
from collections.abc import Iterable

from holdfast.model.activity_facts import ActivitySeen, AddressesHeld
from holdfast.model.facts import DiskMeasured, Fact, ProcessSeen, SocketsSeen, TaskIdle
from holdfast.model.finding_facts import FindingTakenBack, FindingTold
from holdfast.model.told_facts import DifferenceTold, ErrorTold, ExceptionLogged, LossTold
from holdfast.model.watch_facts import (
    FilesNearLimit,
    GpuSampled,
    HostSampled,
    KernelSaid,
    LinkSeen,
    LinksSampled,
    MemoryNearlyFull,
    MemoryNearsLimit,
    ObserverLate,
    StacksSeen,
    StateChanged,
    StepsSeen,
    TaskMoves,
    TaskSampled,
    TaskSlow,
    TaskStill,
    TaskWaits,
)

# Of each task or host the newest so many; the journal has them all.
KEPT_MAX: dict[type[Fact], int] = {
    **dict.fromkeys((StepsSeen, TaskSampled, DiskMeasured, TaskIdle), 40),
    **dict.fromkeys((HostSampled, GpuSampled, LinksSampled), 40),
    **dict.fromkeys((KernelSaid, FindingTold, FindingTakenBack), 200),
    **dict.fromkeys((TaskStill, TaskWaits, TaskMoves, TaskSlow, LinkSeen), 60),
    **dict.fromkeys((MemoryNearsLimit, MemoryNearlyFull), 60),
    **dict.fromkeys((ProcessSeen, SocketsSeen, StateChanged, ObserverLate), 60),
    **dict.fromkeys((DifferenceTold, ErrorTold, ExceptionLogged, FilesNearLimit, LossTold), 60),
    **dict.fromkeys((StacksSeen, ActivitySeen, AddressesHeld), 6),
}


def kept(facts: Iterable[Fact]) -> list[Fact]:
    """Without the oldest of what is told again and again."""
    seen: Counter[object] = Counter()
    newest_first: list[Fact] = []
    for fact in reversed(list(facts)):
        limit = KEPT_MAX.get(type(fact))
        if limit is not None:
            key = (type(fact), fact.task, fact.host)
            seen[key] += 1
            if seen[key] > limit:
                continue
        newest_first.append(fact)
    return newest_first[::-1]

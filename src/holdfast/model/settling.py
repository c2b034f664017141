"""The logs of one job put together: whose each one is, when what was said, who is only named."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from holdfast.model.cluster import TaskId
from holdfast.model.facts import (
    AttemptStarted,
    Fact,
    LastWords,
    LogLine,
    OutputEnded,
    SpecRead,
    TracebackSeen,
)
from holdfast.model.heard import UNTIMED, Heard
from holdfast.model.log_clock import zone_s
from holdfast.model.log_facts import LogsGiven
from holdfast.model.log_names import (
    host_in_name,
    manner,
    stem,
    stream_in_name,
    task_in_name,
)
from holdfast.model.log_origin import members_of, told_by
from holdfast.model.log_times import is_dated, with_year

TASKS_MAX = 4_096
SHOWN_MAX = 8
ZONE_SLACK_S = 90.0  # by which the logs of one moment may begin and end apart
_OF_A_STREAM = LogLine | TracebackSeen | LastWords | OutputEnded
_OF_THE_LAUNCHER = ("ChildFailedError", "SystemExit", "CalledProcessError")
_LOOPBACK = ("localhost", "127.0.0.1", "[::1]", "0.0.0.0")


def settle(heard: list[Heard]) -> list[Fact]:
    """All that was heard, each fact with its task, its host and its time, if one can tell."""
    members = members_of(clue for one in heard for clue in one.clues if clue.kind == "cluster")
    members = members or members_of(clue for one in heard for clue in one.clues)
    owners, twice = _owners(heard, members)
    clocks, shifted = _clocks(heard)
    zero_s = min((clock.first_s for clock in clocks.values()), default=0.0)
    end_s = max((clock.last_s for clock in clocks.values()), default=0.0)
    facts: list[Fact] = []
    for one in heard:
        task = owners[one.source]
        place = _Place(
            task=task,
            host=_host(one.source, task, members),
            stream=stream_in_name(one.source),
            several=len({fact.task for fact in one.facts if fact.task}) > 1,
            clock=clocks.get(one.source) or _sibling(task, owners, clocks),
            zero_s=zero_s,
            else_s=end_s - zero_s,
        )
        facts += (place.settled(fact) for fact in (*_by_summary(one), *_specs(one, task)))
    named = sorted({fact.task for fact in facts if fact.task} | members.keys())[:TASKS_MAX]
    began = AttemptStarted(
        at_s=0.0,
        host="",
        began_unix_s=zero_s if is_dated(zero_s) else 0.0,
        tasks=tuple(map(str, named)),
        holdfast="",
    )
    sources = tuple(one.source for one in heard)
    given = LogsGiven(at_s=0.0, host="", sources=sources, notes=(*twice, *shifted))
    return [began, given, *facts]


def _owners(
    heard: Sequence[Heard], members: Mapping[TaskId, str]
) -> tuple[dict[str, TaskId | None], tuple[str, ...]]:
    """Whose each file is, and which files claim to be of the same task. Names count first."""
    shared = _shared_folder([one.source for one in heard])
    owners = {one.source: task_in_name(one.source[shared:]) for one in heard}
    named = set(owners.values())
    for one in heard:
        if owners[one.source] is None and (told := _told(one, members)) not in named:
            owners[one.source] = told
    claims: dict[TaskId, dict[str, list[str]]] = {}
    for source, task in owners.items():
        if task is not None:
            claims.setdefault(task, {}).setdefault(stem(source), []).append(source)
    manners = Counter(manner(one.source) for one in heard)
    twice: list[str] = []
    for task, by_stem in claims.items():
        usual = _most_usual(by_stem, manners)
        aside = [source for name, listed in by_stem.items() if name != usual for source in listed]
        owners |= dict.fromkeys(aside)
        if not usual:
            shown = ", ".join(aside[:SHOWN_MAX])
            twice.append(f"which of {shown} is the log of {task}: each of them claims to be")
    return owners, tuple(twice)


def _shared_folder(sources: Sequence[str]) -> int:
    """How much of their names is the folder that all lie in: it is nobody's name in particular."""
    if len(sources) == 1:
        return 0
    first, last = min(sources, default=""), max(sources, default="")
    alike = next(
        (i for i, pair in enumerate(zip(first, last, strict=False)) if pair[0] != pair[1]),
        len(first),
    )
    return first.rfind("/", 0, alike) + 1


def _most_usual(stems: Iterable[str], manners: Mapping[str, int]) -> str:
    """The one that is named as most files are: `pyspy-worker-1` lies beside `worker-1`'s log."""
    counted = sorted(((manners[manner(name)], name) for name in stems), reverse=True)
    alone = len(counted) == 1 or counted[0][0] > counted[1][0]
    return counted[0][1] if alone else ""


def _told(one: Heard, members: Mapping[TaskId, str]) -> TaskId | None:
    """By its own lines, or by the only task that belongs on the host it is named after."""
    if told := told_by(one.clues, members_of(one.clues) or members):
        return told
    host = host_in_name(one.source)
    there = [task for task, address in members.items() if host and _host_of(address) == host]
    return there[0] if len(there) == 1 else None


def _host(source: str, task: TaskId | None, members: Mapping[TaskId, str]) -> str:
    """By the file's name, or where the definition puts the task."""
    if host := host_in_name(source):
        return host
    address = _host_of(members.get(task, "")) if task else ""
    return "" if address in _LOOPBACK else address


def _host_of(address: str) -> str:
    return address.strip().rpartition(":")[0]


def _by_summary(one: Heard) -> Iterator[Fact]:
    """The last traceback that nobody signed is of the one that torchrun names as the first."""
    first = next((clue for clue in one.clues if clue.kind == "summary"), None)
    unsigned = [
        fact
        for fact in one.facts
        if isinstance(fact, TracebackSeen)
        and fact.task is None
        and not fact.exception.endswith(_OF_THE_LAUNCHER)
    ]
    for fact in one.facts:
        signed = first is not None and unsigned and fact is unsigned[-1]
        yield replace(fact, task=first.task, host=first.address) if first and signed else fact


def _specs(one: Heard, task: TaskId | None) -> Iterator[SpecRead]:
    """The definitions that a program printed are those that it uses.

    Where it printed the cluster only, it is for the log's own task, if that is a member.
    """
    for clue in one.clues:
        meant = clue.task or (task if task in members_of([clue]) else None)
        if clue.kind == "cluster" and meant is not None:
            yield SpecRead(
                at_s=one.span[0] if one.span else UNTIMED,
                host="",
                source=one.source,
                cluster=clue.cluster,
                role=meant.role,
                index=str(meant.index),
            )


@dataclass(frozen=True, slots=True)
class _Clock:
    """How a file's times become those of all."""

    first_s: float
    last_s: float
    near_s: float | None = None  # a dated time, for days without a year
    shift_s: float = 0.0

    def at(self, own_s: float) -> float:
        if self.near_s is not None and not is_dated(own_s):
            own_s = with_year(own_s, self.near_s)
        return own_s + self.shift_s


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a file's facts belong."""

    task: TaskId | None
    host: str
    stream: str
    several: bool
    clock: _Clock | None
    zero_s: float
    else_s: float  # for what has no time: the end, so that it goes before nobody

    def settled(self, fact: Fact) -> Fact:
        """Whose the file is counts, unless several tasks put their names before their lines."""
        task = (fact.task or self.task) if self.several else (self.task or fact.task)
        if fact.at_s < 0 or self.clock is None:
            at_s = self.else_s if self.clock is None else self.clock.last_s - self.zero_s
        else:
            at_s = self.clock.at(fact.at_s) - self.zero_s
        fact = replace(fact, task=task, host=fact.host or self.host, at_s=max(0.0, at_s))
        if self.stream and isinstance(fact, _OF_A_STREAM):
            return replace(fact, stream=self.stream)
        return fact


def _clocks(heard: Sequence[Heard]) -> tuple[dict[str, _Clock], tuple[str, ...]]:
    """One for each file that tells times, and what had to be put right."""
    timed = [(one.source, one.span) for one in heard if one.span is not None]
    near_s = min((first_s for _, (first_s, _) in timed if is_dated(first_s)), default=None)
    clocks: dict[str, _Clock] = {}
    notes: list[str] = []
    for source, (first_s, last_s) in timed:
        raw = _Clock(first_s, last_s, near_s)
        clock = _Clock(raw.at(first_s), raw.at(last_s), near_s)
        other = next(iter(clocks), source)
        if shift_s := _shift_s(clock, clocks.get(other, clock)):
            clock = _Clock(clock.first_s + shift_s, clock.last_s + shift_s, near_s, shift_s)
            which = "ahead" if shift_s < 0 else "behind"
            notes.append(
                f"the clock of {source}: {abs(shift_s) / 3600.0:g} h {which} of that of {other},"
                " taken for another time zone"
            )
        clocks[source] = clock
    return clocks, tuple(notes)


def _shift_s(clock: _Clock, other: _Clock) -> float:
    """What brings a clock to another one, if both span the same time, whole half hours apart."""
    shift_s = zone_s(other.first_s - clock.first_s, slack_s=ZONE_SLACK_S)
    return shift_s if abs(clock.last_s + shift_s - other.last_s) <= ZONE_SLACK_S else 0.0


def _sibling(
    task: TaskId | None, owners: Mapping[str, TaskId | None], clocks: Mapping[str, _Clock]
) -> _Clock | None:
    """The clock of the same task's other stream: what has no time was said before its end."""
    return next((clocks[source] for source in clocks if task and owners[source] == task), None)

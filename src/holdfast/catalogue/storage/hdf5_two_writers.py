"""Several tasks write one HDF5 file at the same time, and no lock keeps them apart.

## What you see
At first nothing. Then `bad object header`, `wrong B-tree signature`, `addr overflow`, `name already
exists`, or a file that opens and lacks what was written.

## Why it happens
All tasks run the same program and save to the same name. Each keeps its own picture of the file in
memory, and writes it over that of the others. HDF5's locks would have refused the second writer:
they are switched off (HDF5_USE_FILE_LOCKING=FALSE, `h5py.File(..., locking=False)`), or the
storage has none.

## How to confirm it by hand
`lsof FILE` while they write: several tasks have it open with `u` or `w`, and no lock letter (`W`)
behind it. For files that are open for moments, ask again and again.

## What to do
`holdfast rescue FILE` saves what still reads. Let each task write a file of its own and put them
together with `holdfast merge`, write through `holdfast.rows`, or start the job with
`--guard-hdf5`: then the second writer hears that the file is taken, before any damage.

## When this accusation would be wrong
When the tasks write through MPI's parallel HDF5, which keeps them in step by itself. Tasks that
take turns are not meant: only who was seen twice to have the file open while another had it open,
or who failed over it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from holdfast.model.cluster import TaskId
from holdfast.model.evidence import Evidence
from holdfast.model.facts import Fact, TracebackSeen
from holdfast.model.findings import Cause, Confidence, Proof, Severity
from holdfast.model.pattern import Pattern
from holdfast.model.remedies import AskHuman
from holdfast.model.told_facts import ExceptionLeft
from holdfast.model.watch_facts import FileWritten
from holdfast.model.words import listed

OF_HDF5 = Pattern(r"/(?:h5py|tables)/|\bh5py[./]|\bHDF5\b|HDF5ExtError")
# As HDF5 itself says why it failed; what h5py refuses by itself reads otherwise.
OF_LIBRARY = Pattern(r"(?:[Uu]nable to|[Cc]an't) [^()]+\(.+\)|HDF5ExtError")
RAISED = frozenset(
    {"OSError", "RuntimeError", "KeyError", "ValueError", "FileExistsError", "HDF5ExtError"}
)
# These tell that somebody was kept out or asked for too much, not that anything was damaged.
NO_HARM = Pattern(
    r"errno = \d|already open|is held for writing by|[Uu]nable to lock|doesn't exist|already exists"
    r"|no write intent|[Ii]nvalid |out of (?:range|bounds)|filter"
)
MADE_BY_ANOTHER = Pattern(r"errno = 17\b")  # between the look whether it is there and the making
OPENING = Pattern(r"h5py/_hl/files\.py:\d+ __init__")
READS = frozenset({"", "r"})  # modes of h5py
WORDS_MAX = 160


@dataclass(frozen=True, slots=True)
class _Shared:
    """One file, all who are known to write it, and what became of them."""

    path: str
    writers: Mapping[TaskId, Fact]
    is_at_once: bool
    over: Sequence[TracebackSeen] = ()  # the exceptions of HDF5 that ended writers of it
    also: Sequence[TracebackSeen] = ()  # and others, which do not name their file
    ended_else: frozenset[TaskId] = frozenset()  # writers who failed, over something else


def detect(evidence: Evidence) -> Iterator[Proof]:
    for (_, path), seen in sorted(_written(evidence).items()):
        shared = _shared(evidence, path, seen)
        at_once = {task: fact for task, fact in seen.items() if _is_beside(fact)}
        if shared.over and len(shared.writers) > 1:
            yield _error(shared)
        elif at_once:
            yield _warning(path, at_once)


def _written(evidence: Evidence) -> dict[tuple[str, str], dict[TaskId, Fact]]:
    """By place: who was seen to have a file open for writing, or failed when it had it open."""
    found: dict[tuple[str, str], dict[TaskId, Fact]] = {}
    servers: dict[tuple[str, str], str] = {}
    for fact in evidence.of(FileWritten):
        # A file of another host is another file, unless both have it from one server.
        where = servers[fact.host, fact.path] = fact.server or f"host {fact.host}"
        if fact.task is not None:
            found.setdefault((where, fact.path), {})[fact.task] = fact
    for one in evidence.of(ExceptionLeft):
        opened = one.file and one.mode not in READS and not any(map(OPENING.search, one.frames))
        if opened and one.task is not None:
            where = servers.get((one.host, one.file), f"host {one.host}")
            found.setdefault((where, one.file), {}).setdefault(one.task, one)
    return found


def _is_beside(fact: Fact) -> bool:
    return isinstance(fact, FileWritten) and bool(fact.beside)


def _shared(evidence: Evidence, path: str, seen: Mapping[TaskId, Fact]) -> _Shared:
    hosts = {fact.host for fact in seen.values()}
    writers: dict[TaskId, Fact] = {**_by_own_words(evidence, path, hosts), **seen}
    ended = {task: one for task in evidence.tasks if (one := _ended_in_hdf5(evidence, task))}
    over = {task: one for task, one in ended.items() if _may_be_of(one, path) and task in writers}
    also = [one for task, one in ended.items() if task not in writers and _may_be_of(one, path)]
    failed = {task for task in writers if evidence.failure_of(task) is not None}
    return _Shared(
        path=path,
        writers=writers,
        is_at_once=any(map(_is_beside, seen.values())),
        over=[over[task] for task in sorted(over)],
        also=also,
        ended_else=frozenset(failed - over.keys()),
    )


def _by_own_words(evidence: Evidence, path: str, hosts: set[str]) -> dict[TaskId, Fact]:
    """Who ended over opening it for writing. That alone proves no harm: it may have been old."""
    return {
        one.task: one
        for one in evidence.of(ExceptionLeft)
        if one.task is not None
        and (one.file, one.host in hosts) == (path, True)
        and one.mode not in READS
    }


def _ended_in_hdf5(evidence: Evidence, task: TaskId) -> TracebackSeen | None:
    """The exception of HDF5 that ended a task; None: it goes on, or ended over something else."""
    seen = evidence.last_traceback(task) if evidence.failure_of(task) else None
    if seen is None:
        return None
    if NO_HARM.search(seen.message) and not MADE_BY_ANOTHER.search(seen.message):
        return None
    if seen.exception.rpartition(".")[2] not in RAISED:
        return None
    told = "\n".join((seen.exception, seen.message, *seen.frames))
    return seen if OF_HDF5.search(told) and OF_LIBRARY.search(told) else None


def _may_be_of(seen: TracebackSeen, path: str) -> bool:
    return not isinstance(seen, ExceptionLeft) or seen.file in {"", path}


def _error(shared: _Shared) -> Proof:
    first = min(shared.over, key=lambda seen: seen.at_s)
    words = ": ".join(filter(None, (first.exception, *first.message.splitlines()[:1])))
    damaged = any(not MADE_BY_ANOTHER.search(seen.message) for seen in shared.over)
    over = f"{listed(seen.task for seen in shared.over)} failed over it ({words[:WORDS_MAX]})"
    too = f"; {listed(seen.task for seen in shared.also)} failed in HDF5, too"
    says = (
        f"{_told(shared.path, shared.writers, is_at_once=shared.is_at_once)}"
        f"; {'it is damaged: ' if damaged else ''}{over}{too if shared.also else ''}"
    )
    named = {task: fact for task, fact in shared.writers.items() if task not in shared.ended_else}
    sure = damaged and shared.is_at_once
    return Proof(
        facts=(*named.values(), *shared.over, *shared.also),
        culprit=None,
        place=shared.path,
        confidence=Confidence.CERTAIN if sure else Confidence.HIGH,
        says=says,
        do=_to_do(shared.path),
    )


def _warning(path: str, at_once: Mapping[TaskId, Fact]) -> Proof:
    return Proof(
        facts=tuple(at_once.values()),
        culprit=None,
        place=path,
        confidence=Confidence.HIGH,
        severity=Severity.WARNING,
        says=_told(path, at_once, is_at_once=True),
        do=_to_do(path),
    )


def _told(path: str, writers: Iterable[TaskId], *, is_at_once: bool) -> str:
    when = " at the same time" if is_at_once else ""
    return (
        f"{listed(sorted(writers))} write one HDF5 file{when}, {path}, and no lock keeps them"
        " apart: they overwrite each other's structures"
    )


def _to_do(path: str) -> tuple[str, ...]:
    return (
        f"save what still reads, once nobody writes it: holdfast rescue {path}",
        "let each task write a file of its own, and put them together: holdfast merge",
        "or start the job with --guard-hdf5, which stops a second writer before any damage",
    )


cause = Cause(
    family="hdf5-truncated",
    detect=detect,
    remedy=AskHuman(),
    leaves_doubt=True,
)

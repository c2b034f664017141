"""Words that only the end of a child process leaves in the log of its task."""

from collections.abc import Iterable, Sequence

from holdfast.model.facts import LogLine, TracebackSeen
from holdfast.model.lost_peer import LOST, LOST_ERRORS
from holdfast.model.origin import chains_of, origin_of_chain
from holdfast.model.pattern import Pattern

# What Python writes above the traceback that ended a process of `multiprocessing`.
NAMED = Pattern(
    r"^Process (?P<name>(?:Spawn|Fork|ForkServer|Daemon|NoDaemon)?(?:Process|PoolWorker)-[\d:]+):$"
)
# Only an exception that nobody has caught comes as far out as this: the process ends with it.
_OUTERMOST = Pattern(r"[/\\]multiprocessing[/\\]process\.py:\d+ _bootstrap\b")
_SPAWNED = Pattern(r"[/\\]multiprocessing[/\\]spawn\.py:\d+ spawn_main\b")
# Somebody has ended it, or its parent was gone first, as at the end of many a good run.
_NOT_ITS_OWN = Pattern(
    LOST_ERRORS.text + r"|^(?:KeyboardInterrupt|SystemExit|GeneratorExit|EOFError"
    r"|BrokenPipeError|Connection(?:Reset|Refused|Aborted)Error)$"
)
_OF_ITS_PARENT = Pattern(
    r"[/\\]multiprocessing[/\\](?:connection|managers|queues|synchronize|shared_memory"
    r"|resource_sharer|resource_tracker)\.py:\d+ "
)
CHILDREN_TOLD_MAX = 3  # of one task, by name
SPAWN_FRAMES = 2  # `<string>:1 <module>`, then the function that it calls


def is_of_child(seen: TracebackSeen) -> bool:
    """Whether it ended a process that `multiprocessing` had started."""
    first = seen.frames[:SPAWN_FRAMES]
    return any(map(_OUTERMOST.search, first[:1])) or any(map(_SPAWNED.search, first))


def is_its_own(chain: Iterable[TracebackSeen]) -> bool:
    """Whether a process failed by itself: it was not ended, and has lost nobody."""
    return not any(
        _NOT_ITS_OWN.search(seen.exception)
        or LOST.search(seen.message)
        or any(map(_OF_ITS_PARENT.search, seen.frames[-1:]))
        for seen in chain
    )


def failed_chains(seen: Iterable[TracebackSeen]) -> list[list[TracebackSeen]]:
    """Of one stream, in its order: the chain of exceptions that ended each child."""
    chains = chains_of(seen)
    return [chain for chain in chains if any(map(is_of_child, chain)) and is_its_own(chain)]


def names_above(chains: Iterable[Sequence[TracebackSeen]], lines: Iterable[LogLine]) -> list[str]:
    """For each, in the order of its log, the name that Python wrote above; empty: it wrote none.

    Children that fail in the same moment may write all their names first: then each of as many
    tracebacks may be of any of them.
    """
    named = {
        (line.source, line.stream, line.line): found.group("name")
        for line in lines
        if (found := NAMED.search(line.text))
    }
    names: list[str] = []
    among, left = "", 0
    for chain in chains:
        first = chain[0]
        above: list[str] = []
        while name := named.get((first.source, first.stream, first.line - 1 - len(above))):
            above.insert(0, name)
        if above:
            among, left = " or ".join(above), len(above)
        names.append(among if left > 0 else "")
        left -= 1
    return names


def exception_sentence(who: str, chain: Sequence[TracebackSeen]) -> str:
    """`SpawnProcess-2 ended with ValueError: no rows, at train.py line 9 (exit code 1)`."""
    origin = origin_of_chain(chain)
    place = f", at {origin.place}" if origin.place else ""
    # Python itself ends with this code after an exception that nobody has caught.
    return f"{who or 'it'} ended with {origin.text}{place}{origin.other} (exit code 1)"


def outlived_sentence(who: str, children: Sequence[str]) -> str:
    """That somebody came to its end, and how its children failed."""
    number = "a child process" if len(children) == 1 else f"{len(children)} child processes"
    more = len(children) - CHILDREN_TOLD_MAX
    told = [*children[:CHILDREN_TOLD_MAX], *([f"and {more} more"] if more > 0 else [])]
    return f"{who} although {number} failed: {'; '.join(told)}"

"""What stands out in logs that prove no cause: a place to begin reading."""

from collections.abc import Iterator, Sequence

from holdfast.diagnose.log_children import failed_children
from holdfast.diagnose.log_ends import LogEnds
from holdfast.diagnose.log_records import in_short, records, text_of
from holdfast.model.cluster import TaskId
from holdfast.model.evidence import Evidence
from holdfast.model.facts import LastWords, LogLine, OutputEnded, TracebackSeen
from holdfast.model.findings import Unusual
from holdfast.model.pattern import Pattern
from holdfast.model.tracebacks import HEADER

UNUSUAL_MAX = 20
TEXT_LENGTH_MAX = 300
BAD = frozenset({"E", "F"})
_DIGITS = Pattern(r"0x[0-9a-fA-F]+|\d+")


def unusual(evidence: Evidence) -> tuple[Unusual, ...]:
    """The first trouble and the last words of each log, and what only one log says."""
    found = [*_first_trouble(evidence), *_last_words(evidence), *_only_here(evidence)]
    once = {(one.file, one.text): one for one in reversed(found)}
    return tuple(one for one in found if once[one.file, one.text] is one)[:UNUSUAL_MAX]


def is_troubled(evidence: Evidence) -> bool:
    """Whether something is clearly wrong, whatever it is: nobody may call this healthy.

    What was survived, what is said after a good end, and what only a child ended over, is not.
    """
    ends = LogEnds(evidence)
    outlived = {id(seen) for chain in failed_children(evidence) for seen in chain}
    return any(
        _sounds_bad(fact)
        and id(fact) not in outlived
        and not ends.goes_on_after(fact)
        and not ends.finished(fact.task, fact.source)
        for fact in records(evidence.facts)
    ) or any(_is_cut_off(words.lines) for words in evidence.of(LastWords))


def _is_cut_off(lines: Sequence[str]) -> bool:
    """Whether a log ends inside of a traceback: the exception itself is not there any more."""
    begun = [at for at, line in enumerate(lines) if line.endswith(HEADER)]
    below = lines[begun[-1] + 1 :] if begun else ()
    return bool(below) and all(line[:1].isspace() or not line for line in below)


def _sounds_bad(fact: LogLine | TracebackSeen) -> bool:
    return isinstance(fact, TracebackSeen) or fact.level in BAD


def _first_trouble(evidence: Evidence) -> Iterator[Unusual]:
    seen: set[TaskId | str] = set()
    for fact in records(evidence.facts):
        speaker = fact.task or fact.source
        if speaker not in seen and _sounds_bad(fact):
            seen.add(speaker)
            yield _entry(fact, why="the first that sounds like trouble")


def _last_words(evidence: Evidence) -> Iterator[Unusual]:
    total = {fact.source: fact.lines_total for fact in evidence.of(OutputEnded)}
    for words in evidence.of(LastWords):
        told = [line for line in words.lines if line.strip()]
        if told:
            yield Unusual(
                task=words.task,
                file=words.source,
                line=total.get(words.source, 0),
                text=in_short(told[-1], length_max=TEXT_LENGTH_MAX),
                why="its last words",
            )


def _only_here(evidence: Evidence) -> Iterator[Unusual]:
    """Lines that sound bad, and that no other log has: digits do not make a difference."""
    told = [fact for fact in records(evidence.facts) if isinstance(fact, LogLine)]
    speakers: dict[str, set[TaskId | str]] = {}
    for line in told:
        speakers.setdefault(_masked(line.text), set()).add(line.task or line.source)
    several = {line.task or line.source for line in told}
    for line in told:
        alone = len(speakers[_masked(line.text)]) == 1 and len(several) > 1
        if alone and _sounds_bad(line):
            yield _entry(line, why="no other log says this")


def _masked(text: str) -> str:
    plain = in_short(text)
    start, kept = 0, []
    for found in _DIGITS.each(plain):
        kept.append(plain[start : found.start()])
        start = found.end()
    return "#".join((*kept, plain[start:]))


def _entry(fact: LogLine | TracebackSeen, *, why: str) -> Unusual:
    return Unusual(
        task=fact.task,
        file=fact.source,
        line=fact.line,
        text=in_short(text_of(fact), length_max=TEXT_LENGTH_MAX),
        why=why,
    )

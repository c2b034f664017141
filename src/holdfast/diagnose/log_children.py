"""Children that failed, of programs whose logs prove that they came to their end all the same."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from holdfast.diagnose.log_claims import EXCEPTION_WEIGHT, Claim
from holdfast.diagnose.log_end_words import tells_end
from holdfast.diagnose.log_ends import LogEnds
from holdfast.diagnose.log_hits import Hit
from holdfast.model.child_ends import (
    exception_sentence,
    failed_chains,
    names_above,
    outlived_sentence,
)
from holdfast.model.cluster import TaskId
from holdfast.model.evidence import Evidence
from holdfast.model.facts import LastWords, LogLine, TracebackSeen
from holdfast.model.findings import Cause, Confidence

NAME = "child-failed"
Chain = list[TracebackSeen]


def failed_children(evidence: Evidence) -> tuple[Chain, ...]:
    """The chains of exceptions that ended children, where the log tells of a good end.

    Of whoever wrote a traceback of its own as well, nobody knows what it ended over.
    """
    return evidence.once(_failed_children)


def _failed_children(evidence: Evidence) -> tuple[Chain, ...]:
    ends = LogEnds(evidence)
    by_file: dict[tuple[TaskId | None, str], Chain] = {}
    for seen in evidence.of(TracebackSeen):
        if not ends.ignored(seen):
            by_file.setdefault((seen.task, seen.source), []).append(seen)
    found: dict[TaskId | str, list[Chain]] = {}
    others: set[TaskId | str] = set()
    for (task, source), written in by_file.items():
        chains = failed_chains(sorted(written, key=lambda one: one.offset))
        found.setdefault(task or source, []).extend(chains)
        if sum(map(len, chains)) < len(written) or not _came_to_its_end(evidence, task, source):
            others.add(task or source)
    return tuple(chain for who in found if who not in others for chain in found[who])


def child_claims(
    evidence: Evidence, hits: Sequence[Hit], causes: Mapping[str, Cause]
) -> Iterator[Claim]:
    """One for each task or file, unless a cause knows better what its child ended over."""
    known = {id(hit.fact) for hit in hits if not hit.is_symptom}
    chains = failed_children(evidence) if NAME in causes else ()
    lines = list(evidence.of(LogLine))
    for _, of_one in groupby(chains, key=lambda chain: chain[0].task or chain[0].source):
        own = [chain for chain in of_one if not any(id(seen) in known for seen in chain)]
        if own:
            yield _claim(own, lines, causes[NAME])


def _claim(chains: Sequence[Chain], lines: Sequence[LogLine], cause: Cause) -> Claim:
    first = chains[0][-1]
    who = f"{first.task} finished" if first.task else "the program finished"
    names = names_above(chains, lines)
    ends = [exception_sentence(name, chain) for name, chain in zip(names, chains, strict=True)]
    return Claim(
        name=NAME,
        cause=cause,
        weight=EXCEPTION_WEIGHT,
        confidence=Confidence.HIGH,
        culprit=first.task,
        place="" if first.task else first.source,
        facts=tuple(chain[-1] for chain in chains),
        says=outlived_sentence(who, ends),
    )


def _came_to_its_end(evidence: Evidence, task: TaskId | None, source: str) -> bool:
    """By the last words of whoever it is, in any file of its own."""
    return any(
        tells_end(evidence, words)
        for words in evidence.of(LastWords)
        if words.task == task and (task or words.source == source)
    )

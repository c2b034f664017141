"""What the last words of a failed task prove, by causes that nothing but words can prove."""

from collections.abc import Iterable, Iterator, Mapping
from functools import cache

from holdfast.diagnose.log_hits import Hit, Vocabulary
from holdfast.model.cluster import TaskId
from holdfast.model.evidence import Evidence
from holdfast.model.facts import LastWords, LogLine, TaskExited, TracebackSeen
from holdfast.model.findings import Cause, Confidence, Finding, Proof, never
from holdfast.model.noise import is_noise
from holdfast.model.origin import origin_of
from holdfast.model.told_facts import ExceptionLeft
from holdfast.model.wording import Weight
from holdfast.model.words import listed

PLAIN = "python-exception-user-code"  # an exception of which nothing better is known
READS = frozenset({"", "r"})  # modes of h5py
# What a scheduler itself writes is known by words alone; what a program does when asked, is not.
ALSO_BY_WORDS = frozenset({"preempted-by-scheduler"})


def ended_over(
    evidence: Evidence, proven: Iterable[Finding], causes: Mapping[str, Cause]
) -> list[Finding]:
    """All findings, with better ones for exceptions whose own words say why."""
    told = list(proven)
    explained = {
        task
        for finding in told
        if finding.cause.family != PLAIN and not finding.is_echo
        for task in (finding.proof.culprit, finding.proof.seen_at)
    }
    better = [
        found
        for failure in evidence.failures()
        if failure.task not in explained and (found := _found(evidence, failure, causes))
    ]
    tasks = {one.proof.seen_at or one.proof.culprit for one in better}
    return [
        *(one for one in told if one.cause.family != PLAIN or one.proof.culprit not in tasks),
        *better,
    ]


def _found(evidence: Evidence, failure: TaskExited, causes: Mapping[str, Cause]) -> Finding | None:
    hits = _vocabulary(tuple(causes.items())).hits(list(_last_words(evidence, failure.task)))
    hit = next((hit for hit in hits if _proves(evidence, hit)), None)
    if hit is None:
        return None
    return Finding(
        name=hit.name,
        cause=hit.cause,
        proof=Proof(
            facts=(hit.fact, failure),
            culprit=hit.culprit or failure.task,
            seen_at=None if hit.culprit in {None, failure.task} else failure.task,
            confidence=Confidence.HIGH,
            says=hit.says + _file(evidence, hit.fact),
            do=(*_place(hit.fact), *(hit.cause.do or (f"read more: holdfast explain {hit.name}",))),
        ),
    )


def _place(fact: LogLine | TracebackSeen) -> tuple[str, ...]:
    """The innermost line of the user's own, of what the program itself wrote down."""
    at = origin_of(fact).at if isinstance(fact, ExceptionLeft) else ""
    return (f"look at {at}, which led to it",) if at else ()


def _file(evidence: Evidence, fact: LogLine | TracebackSeen) -> str:
    """The HDF5 file that could not be opened, and who else failed at it as a writer."""
    if not isinstance(fact, ExceptionLeft) or not fact.file:
        return ""
    others = {
        f"{one.task} with mode {one.mode}"
        for one in evidence.of(ExceptionLeft)
        if one.task != fact.task
        and (one.host, one.file) == (fact.host, fact.file)
        and one.mode not in READS
    }
    by = f", and by {listed(sorted(others))}" if others else ""
    return f"; it is {fact.file}, opened with mode {fact.mode}{by}"


def _proves(evidence: Evidence, hit: Hit) -> bool:
    """What blames another is not what this task ended over, unless it asked that for something."""
    words = hit.words
    served = {None, hit.fact.task, *(task for task in evidence.tasks if task.role == "ps")}
    of_itself = hit.culprit in served and not words.blames_nobody
    return words.weight is Weight.PROOF and not hit.is_symptom and of_itself


def _last_words(evidence: Evidence, task: TaskId | None) -> Iterator[LogLine | TracebackSeen]:
    """The traceback that ended it; without one, its last lines, the last one first."""
    seen = evidence.last_traceback(task)
    if seen is not None:
        yield seen
        return
    for words in evidence.of(LastWords, task):
        for line in reversed(words.lines):
            if not is_noise(line):
                yield LogLine(
                    at_s=words.at_s, host=words.host, task=task, text=line, stream=words.stream
                )


@cache
def _vocabulary(causes: tuple[tuple[str, Cause], ...]) -> Vocabulary:
    """Of the causes that have no other way to be found."""
    return Vocabulary(
        {
            name: cause
            for name, cause in causes
            if (cause.detect is never or name in ALSO_BY_WORDS) and not cause.echo
        }
    )

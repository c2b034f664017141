"""Who said what first, who only echoed it, and who fell silent when."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice

from holdfast.model.cluster import TaskId
from holdfast.model.evidence import Evidence
from holdfast.model.facts import (
    AttemptStarted,
    Fact,
    LastWords,
    LogLine,
    TaskExited,
    TracebackSeen,
)
from holdfast.model.findings import Diagnosis, Severity
from holdfast.model.log_facts import LogsGiven
from holdfast.model.noise import is_noise

MOMENTS_MAX = 40


class Role(StrEnum):
    """What a moment is in the story of a failure."""

    FIRST = "first"  # it belongs to the cause itself
    ECHO = "echo"  # somebody suffers from it
    NOISE = "noise"  # it sounds bad, and means nothing
    END = "end"  # the last that a task or a file said, or how it ended


# Of each role so many, that a thousand victims cannot hide how they ended, or who was first.
KEPT_MAX = {Role.FIRST: 12, Role.ECHO: 16, Role.NOISE: 4, Role.END: 16}
FIRST_WORDS_MAX = 2  # of one task about one cause: the rest says the same once more
NOT_SAID = (AttemptStarted, LogsGiven)  # what we know of the whole, not what somebody said
_ORDER = {role: number for number, role in enumerate(Role)}


@dataclass(frozen=True, slots=True)
class Moment:
    """One thing that was said or seen; where no fact shows it, only in our own words."""

    at_s: float
    task: TaskId | None
    role: Role
    fact: Fact | None
    says: str = ""


def timeline(evidence: Evidence, diagnosis: Diagnosis) -> tuple[Moment, ...]:
    """The few moments that tell the story, oldest first: the cause before its echoes at a tie."""
    kept: list[Moment] = []
    told: set[int] = set()
    for role, moments in (
        (Role.FIRST, _firsts(evidence, diagnosis)),
        (Role.ECHO, _echoes(evidence, diagnosis)),
        (Role.END, _ends(evidence, diagnosis)),
        (Role.NOISE, _noise(evidence)),
    ):
        new = (moment for moment in moments if moment.fact is None or id(moment.fact) not in told)
        chosen = list(islice(new, KEPT_MAX[role]))
        told.update(id(moment.fact) for moment in chosen)
        kept += chosen
    return tuple(sorted(kept[:MOMENTS_MAX], key=_when))


def _firsts(evidence: Evidence, diagnosis: Diagnosis) -> Iterator[Moment]:
    for finding in diagnosis.findings:
        if finding.severity is Severity.ERROR:
            facts = [fact for fact in finding.proof.facts if not isinstance(fact, NOT_SAID)]
            telling = [fact for fact in facts if not isinstance(fact, TaskExited)]
            of: Counter[object] = Counter()
            # How a task ended is told as its end, if there is more to tell.
            for fact in sorted(telling or facts, key=lambda fact: fact.at_s):
                whose = _whose(fact)
                of[whose] += 1
                if of[whose] <= FIRST_WORDS_MAX:
                    yield Moment(_said_s(fact, evidence), fact.task, Role.FIRST, fact)


def _echoes(evidence: Evidence, diagnosis: Diagnosis) -> Iterator[Moment]:
    """Each victim with its first words about it."""
    echoes = [echo for finding in diagnosis.findings for echo in finding.echoes]
    for echo in sorted(echoes, key=lambda echo: echo.since_s):
        fact = min(echo.facts, key=_telling, default=None)
        at_s = echo.since_s if fact is None else _said_s(fact, evidence)
        yield Moment(at_s, echo.task, Role.ECHO, fact, echo.says)


def _telling(fact: Fact) -> tuple[int, float]:
    """Words before exits; of a traceback its last line, not the source code in it."""
    kinds = {TracebackSeen: 0, LogLine: 1, TaskExited: 3}
    return (kinds.get(type(fact), 2), fact.at_s)


def _said_s(fact: Fact, evidence: Evidence) -> float:
    """Words are read a little after they were written: nobody has said them after its end."""
    exited = evidence.exit_of(fact.task)
    is_words = isinstance(fact, LogLine | TracebackSeen)
    return min(fact.at_s, exited.at_s) if is_words and exited else fact.at_s


def _ends(evidence: Evidence, diagnosis: Diagnosis) -> Iterator[Moment]:
    """How each task ended; where nobody saw that, what it said last. Culprits come first."""
    last: dict[object, Fact] = {_whose(words): words for words in evidence.of(LastWords)}
    last |= {exited.task: exited for exited in evidence.of(TaskExited)}
    culprits = {finding.proof.culprit for finding in diagnosis.findings} - {None}
    for fact in sorted(last.values(), key=lambda fact: (fact.task not in culprits, fact.at_s)):
        yield Moment(fact.at_s, fact.task, Role.END, fact)


def _noise(evidence: Evidence) -> Iterator[Moment]:
    """Each task's first line of noise: more of it tells nothing."""
    heard: set[object] = set()
    for line in evidence.of(LogLine):
        whose = _whose(line)
        if whose not in heard and is_noise(line.text):
            heard.add(whose)
            yield Moment(line.at_s, line.task, Role.NOISE, line)


def _whose(fact: Fact) -> object:
    """The task, else the file: what is nobody's is not all one."""
    if isinstance(fact, LogLine | TracebackSeen | LastWords):
        return fact.task or fact.source
    return fact.task


def _when(moment: Moment) -> tuple[float, int, int]:
    fact = moment.fact
    offset = fact.offset if isinstance(fact, LogLine | TracebackSeen) else 0
    return (moment.at_s, _ORDER[moment.role], offset)

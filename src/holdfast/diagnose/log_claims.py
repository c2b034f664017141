"""What somebody claims to be wrong: the same words about the same culprit are one claim."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum

from holdfast.diagnose.log_ends import LogEnds
from holdfast.diagnose.log_hits import Hit
from holdfast.diagnose.log_places import place_of
from holdfast.model.cluster import TaskId
from holdfast.model.facts import Fact, LogLine, TracebackSeen
from holdfast.model.findings import Cause, Confidence, Finding, Proof, Severity
from holdfast.model.wording import Weight

FACTS_MAX = 3  # of one claim by one speaker: more say nothing new
SPEAKERS_MAX = 64
# How much each kind of claim counts; a final traceback is more than a sign elsewhere.
WEIGHTS = {Weight.PROOF: 30, Weight.SIGN: 20, Weight.SYMPTOM: 10}
# Causes of these families name a file, a weight or a node, and often many in a row.
MANY_NAMES = frozenset(
    {
        *("checkpoint-mismatch", "corrupt-data", "disk-full", "graph-mismatch", "hdfs-access"),
        *("hdf5-lock", "hdf5-truncated", "hdf5-name-exists", "too-many-open-files"),
    }
)
EXCEPTION_WEIGHT, ABSENCE_WEIGHT = 25, 5
SURE = {
    Weight.PROOF: Confidence.HIGH,
    Weight.SIGN: Confidence.LIKELY,
    Weight.SYMPTOM: Confidence.LIKELY,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A cause that logs speak of, who is to blame, and who says so."""

    name: str
    cause: Cause
    weight: int
    confidence: Confidence
    culprit: TaskId | None
    place: str
    facts: tuple[Fact, ...]  # the most telling first
    says: str
    do: tuple[str, ...] = ()
    severity: Severity | None = None  # None: as the cause has it
    symptom: bool = False
    survived: bool = False  # training went on after it in the same log
    order: int = 0  # of its first record among all

    @property
    def since_s(self) -> float:
        return min(fact.at_s for fact in self.facts)

    @property
    def speaker(self) -> TaskId | None:
        return self.facts[0].task

    @property
    def is_past(self) -> bool:
        """Whether training got over it: only what proves itself is still worth telling."""
        return self.survived and self.weight < WEIGHTS[Weight.PROOF]

    def finding(self) -> Finding:
        return Finding(
            name=self.name,
            cause=self.cause,
            proof=Proof(
                facts=self.facts,
                says=self.says,
                culprit=self.culprit,
                place=self.place,
                seen_at=self.speaker if self.speaker != self.culprit else None,
                confidence=self.confidence,
                do=self.do or self.cause.do or (f"read more: holdfast explain {self.name}",),
                symptom=self.symptom,
                severity=self.severity,
            ),
        )


def sources_of(claim: Claim) -> set[str]:
    """The files in which it stands."""
    told = (fact for fact in claim.facts if isinstance(fact, LogLine | TracebackSeen))
    return {fact.source for fact in told}


def gathered(hits: Iterable[Hit], ends: LogEnds) -> list[Claim]:
    """One claim for each cause and culprit, by its weightiest and then its first words.

    Where the culprit is whoever speaks and nobody knows who that is, each file is one speaker.
    """
    groups: dict[tuple[object, ...], list[tuple[int, Hit]]] = {}
    for order, hit in enumerate(hits):
        speaker = hit.fact.task or hit.fact.source
        about = hit.culprit or hit.place or speaker
        key = (hit.name, about, speaker if hit.is_symptom else None)
        groups.setdefault(key, []).append((order, hit))
    return [_claim(group, ends) for group in groups.values()]


def most_naming(claims: list[Claim]) -> list[Claim]:
    """Without those of which the same cause in the same file says more by another."""
    return [
        claim
        for claim in claims
        if not any(
            claim.name == other.name
            and sources_of(claim) & sources_of(other)
            and _says_more(other, claim)
            for other in claims
        )
    ]


def _says_more(other: Claim, claim: Claim) -> bool:
    """A task or a thing says more than a line of a program, and that more than nothing."""
    more, less = _naming(other), _naming(claim)
    if claim.culprit and claim.culprit == other.culprit and not (claim.symptom or other.symptom):
        return other.weight > claim.weight
    if less is _Naming.NOTHING or (less is _Naming.LINE and more is not less):
        return more > less
    # One file names many weights, paths or lines for one fault: the first of them is enough.
    many = less is _Naming.LINE or (less is _Naming.THING and claim.cause.family in MANY_NAMES)
    return many and more is less and (-other.weight, other.order) < (-claim.weight, claim.order)


class _Naming(IntEnum):
    NOTHING, LINE, THING, TASK = range(4)


def _naming(claim: Claim) -> _Naming:
    if claim.culprit:
        return _Naming.TASK
    if not claim.place:
        return _Naming.NOTHING
    told = [fact for fact in claim.facts if isinstance(fact, LogLine | TracebackSeen)]
    return _Naming.LINE if claim.place == place_of(told[0]) else _Naming.THING


def _claim(group: list[tuple[int, Hit]], ends: LogEnds) -> Claim:
    heaviest = max(hit.words.weight for _, hit in group)
    telling = [(order, hit) for order, hit in group if hit.words.weight is heaviest]
    order, first = telling[0]
    return Claim(
        name=first.name,
        cause=first.cause,
        weight=WEIGHTS[heaviest],
        confidence=SURE[heaviest],
        culprit=first.culprit,
        place=first.place,
        facts=_facts([hit.fact for _, hit in telling]),
        says=first.says,
        symptom=first.is_symptom,
        survived=all(ends.goes_on_after(hit.fact) for _, hit in telling),
        order=order,
    )


def _facts(told: list[LogLine | TracebackSeen]) -> tuple[Fact, ...]:
    """The first words of each who says it; of a single one, some more."""
    first = {fact.task or fact.source: fact for fact in reversed(told)}
    if len(first) == 1:
        return tuple(told[:FACTS_MAX])
    return tuple([fact for fact in told if first[fact.task or fact.source] is fact][:SPEAKERS_MAX])

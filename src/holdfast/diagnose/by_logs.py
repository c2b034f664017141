"""Findings from logs alone: root before symptom, and the culprit before those who complain."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache

from holdfast.diagnose.log_absence import absences, trains_alone
from holdfast.diagnose.log_children import child_claims, failed_children
from holdfast.diagnose.log_claims import Claim, gathered, most_naming, sources_of
from holdfast.diagnose.log_ends import LogEnds
from holdfast.diagnose.log_exceptions import better_known, exceptions
from holdfast.diagnose.log_hits import Hit, Vocabulary
from holdfast.diagnose.log_leavers import leaver
from holdfast.diagnose.log_nearby import placed
from holdfast.diagnose.log_records import records
from holdfast.diagnose.log_stalls import explained
from holdfast.diagnose.log_summaries import failed_first
from holdfast.diagnose.log_unheard import unheard_instead
from holdfast.model.cluster import TaskId
from holdfast.model.evidence import Evidence
from holdfast.model.facts import Fact, LogLine
from holdfast.model.findings import Cause, Echo, Finding, Severity

ROOTS_MAX = 20


def said(evidence: Evidence, causes: Mapping[str, Cause]) -> tuple[Finding, ...]:
    """What the logs' own words prove, the root cause first, whoever suffers as its echoes."""
    ends = LogEnds(evidence)
    told = records(evidence.facts)
    hits = [hit for hit in _vocabulary(tuple(causes.items())).hits(told) if _counts(hit, ends)]
    first = failed_first(evidence)
    hits = better_known(_said_often(hits))
    outlived = {id(seen) for chain in failed_children(evidence) for seen in chain}
    thrown = exceptions(
        [one for one in told if id(one) not in outlived], hits, ends, causes, failed_first=first
    )
    children = child_claims(evidence, hits, causes)
    found = most_naming([*gathered(hits, ends), *thrown, *children])
    heard = list(evidence.of(LogLine))
    claims = [
        trains_alone(placed(claim, heard, first), evidence, ends, causes)
        for claim in _most_exact(found)
    ]
    claims = explained(claims, told, heard, causes)
    symptoms = [claim for claim in claims if claim.symptom and not claim.is_past]
    roots = [claim for claim in claims if not claim.symptom and not claim.is_past]
    roots.sort(key=lambda root: _order(root, first))
    if all(root.survived or root.cause.severity is not Severity.ERROR for root in roots):
        accused = _accused(symptoms)
        gone = leaver(symptoms, evidence, ends, causes)
        accused = [gone] if gone else accused
        if not any(claim.culprit or claim.place for claim in accused):
            all_calm = not accused and not roots
            accused = [*absences(evidence, ends, causes, all_calm=all_calm), *accused]
        roots = [*accused, *roots]
    roots = [unheard_instead(root, claims, evidence) for root in roots[:ROOTS_MAX]]
    return tuple(_folded(roots, symptoms))


@cache
def _vocabulary(causes: tuple[tuple[str, Cause], ...]) -> Vocabulary:
    return Vocabulary(dict(causes))


def _said_often(hits: list[Hit]) -> list[Hit]:
    """Without the words that whoever writes them must repeat before they mean anything."""
    times = Counter((hit.words, hit.fact.task or hit.fact.source) for hit in hits)
    return [
        hit for hit in hits if times[hit.words, hit.fact.task or hit.fact.source] >= hit.words.often
    ]


def _counts(hit: Hit, ends: LogEnds) -> bool:
    """Whether words still hold at the end of the log that they stand in."""
    if hit.words.last:
        same = [words.pattern for words in hit.cause.words if words.last]
        return ends.still_waits(hit.fact, hit.culprit, same)
    return not (hit.is_symptom and _misses_who_left(hit, ends))


def _misses_who_left(hit: Hit, ends: LogEnds) -> bool:
    """Whether it only misses those who left before it: at the end of a run, all leave."""
    speaker = hit.fact.task
    if ends.finished(speaker, hit.fact.source):
        return True
    both = [task for task in (speaker, hit.culprit) if task]
    return len(both) > 1 and all(map(ends.left_in_order, both))


def _most_exact(claims: list[Claim]) -> list[Claim]:
    """Without those that another cause tells more exactly of the same task or file."""
    return [
        claim
        for claim in claims
        if not any(
            other.name in claim.cause.yields_to
            and not (other.symptom and not claim.symptom)
            and _are_of_one(claim, other)
            for other in claims
        )
    ]


def _are_of_one(claim: Claim, other: Claim) -> bool:
    if claim.culprit and claim.culprit in {other.culprit, other.speaker}:
        return True
    return bool(sources_of(claim) & sources_of(other))


def _order(root: Claim, first: TaskId | None) -> tuple[bool, bool, int, bool, float, int]:
    """What ended the job before what it got over, proof before sign, the earliest first."""
    lesser = root.cause.severity is not Severity.ERROR
    return (
        lesser,
        root.survived,
        -root.weight,
        root.culprit != first,
        root.since_s,
        root.order,
    )


def _accused(symptoms: Sequence[Claim]) -> list[Claim]:
    """Where only victims speak: those whom they blame, the culprit first.

    Who complained of another before anybody complained of it is a victim itself.
    """
    complained_s: dict[TaskId, float] = {}
    for claim in symptoms:
        if claim.speaker and claim.culprit:
            known_s = complained_s.get(claim.speaker, claim.since_s)
            complained_s[claim.speaker] = min(known_s, claim.since_s)
    by_culprit: dict[TaskId | str, list[Claim]] = {}
    for claim in symptoms:
        by_culprit.setdefault(claim.culprit or claim.place or "", []).append(claim)
    nameless = by_culprit.pop("", [])
    heads = [min(group, key=_telling) for group in by_culprit.values()]
    heads.sort(key=lambda head: _accusation(head, by_culprit, complained_s))
    # One culprit explains those who complain; another is told only where nobody blames for it.
    return heads[:1] or sorted(nameless, key=_telling)[:1]


def _telling(claim: Claim) -> tuple[bool, float, int]:
    """The most telling words about one culprit: those of a cause of its own, then the first."""
    return (claim.cause.echo, claim.since_s, claim.order)


def _accusation(
    head: Claim,
    by_culprit: Mapping[TaskId | str, list[Claim]],
    complained_s: Mapping[TaskId, float],
) -> tuple[bool, bool, float, int, int]:
    accusers = by_culprit[head.culprit or head.place]
    first_s = min(claim.since_s for claim in accusers)
    own_s = complained_s.get(head.culprit) if head.culprit else None
    is_victim = own_s is not None and own_s < first_s
    survived = all(claim.survived for claim in accusers)
    return (is_victim, survived, first_s, -len(accusers), head.order)


def _folded(roots: Sequence[Claim], symptoms: Sequence[Claim]) -> list[Finding]:
    """Each root as a finding; whoever complains echoes the one it blames, else the first."""
    echoes: list[dict[TaskId, Echo]] = [{} for _ in roots]
    for at, root in enumerate(roots):
        for fact in root.facts if root.culprit else ():
            _hear(echoes[at], root, fact, roots)
    for claim in sorted(symptoms, key=lambda one: (one.since_s, one.order)):
        at = next((i for i, root in enumerate(roots) if root.culprit == claim.culprit), 0)
        _hear(echoes[at], claim, claim.facts[0], roots[: at + 1])
    return [
        replace(root.finding(), echoes=tuple(heard.values()))
        for root, heard in zip(roots, echoes, strict=True)
    ]


def _hear(heard: dict[TaskId, Echo], claim: Claim, fact: Fact, roots: Sequence[Claim]) -> None:
    """Add who says it as a victim, unless it is to blame itself."""
    if fact.task and fact.task not in heard and fact.task not in {one.culprit for one in roots}:
        heard[fact.task] = Echo(
            task=fact.task,
            cause=claim.name,
            says=claim.says,
            since_s=fact.at_s,
            facts=(fact,),
        )

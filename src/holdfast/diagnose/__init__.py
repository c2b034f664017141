"""From evidence to findings. One pure function, called before, during and after a run."""

from dataclasses import replace
from functools import cache, partial
from importlib import import_module

from holdfast import open_folder
from holdfast.diagnose.by_logs import said
from holdfast.diagnose.ended_over import ended_over
from holdfast.diagnose.explained import without_explained
from holdfast.diagnose.fold import fold, sufferers
from holdfast.diagnose.healthy import fell_idle, healthy_tasks, is_run, needs_proof, trained
from holdfast.diagnose.log_farewells import ALSO_LEAVING
from holdfast.diagnose.log_pauses import ALSO_PAUSED
from holdfast.diagnose.log_proof import with_log_proof
from holdfast.diagnose.log_records import ALSO_BELOW
from holdfast.diagnose.log_stalls import ALSO_STALLED
from holdfast.diagnose.log_summaries import ALSO_SUMMED_UP
from holdfast.diagnose.lost_workers import unexplained, with_lost_workers
from holdfast.diagnose.stranded import with_stranded
from holdfast.diagnose.unknown import are_empty, what_stays_unknown
from holdfast.diagnose.unusual import is_troubled, unusual
from holdfast.diagnose.waiters import with_waiters
from holdfast.diagnose.waits import waits_for
from holdfast.model.cluster import TaskId
from holdfast.model.evidence import Evidence
from holdfast.model.facts import StartBlocked
from holdfast.model.finding_facts import FindingTakenBack
from holdfast.model.findings import (
    Cause,
    Confidence,
    Diagnosis,
    Echo,
    Finding,
    Severity,
    Unusual,
    Verdict,
)
from holdfast.model.hearing import ALSO_HEARS
from holdfast.model.log_facts import LogsGiven
from holdfast.model.pattern import AnyOf, Pattern


@cache
def catalogue() -> dict[str, Cause]:
    """Every cause we know, under its name."""
    causes: dict[str, Cause] = open_folder.load("holdfast.catalogue", "cause")
    return causes


@cache
def telling_lines() -> AnyOf:
    """The lines worth a fact: agents drop the rest."""
    return AnyOf(pattern for cause in catalogue().values() for pattern in cause.hears)


@cache
def words_to_hear() -> tuple[Pattern, ...]:
    """The lines worth reading where logs are all there is."""
    causes = catalogue().values()
    heard = [pattern for cause in causes for pattern in cause.hears]
    heard += [words.pattern for cause in causes for words in cause.words]
    heard += [pattern for cause in causes for pattern in cause.where]
    heard += [*ALSO_HEARS, *ALSO_BELOW, *ALSO_LEAVING, *ALSO_PAUSED, *ALSO_STALLED, *ALSO_SUMMED_UP]
    return tuple(dict.fromkeys(heard))


def page(name: str) -> str:
    """What a person should know about one cause: its file's docstring."""
    return import_module(open_folder.names("holdfast.catalogue")[name]).__doc__ or ""


def diagnose(evidence: Evidence) -> Diagnosis:
    """What went wrong: the culprit first, its victims folded into it as echoes."""
    proven: list[Finding] = []
    broken: dict[str, str] = {}
    for name, cause in catalogue().items():
        try:
            seen = evidence.while_running if cause.live else evidence
            proven += [Finding(name=name, cause=cause, proof=proof) for proof in cause.detect(seen)]
        except Exception as error:  # noqa: BLE001 - one bad rule must not hide the others
            broken[name] = repr(error)
    proven = ended_over(evidence, proven, catalogue())
    keepers = {finding.proof.culprit for finding in proven if finding.cause.general}
    proven = without_explained(proven, waits_for(evidence, proven), evidence)
    findings = (*_errors(proven, evidence), *_lesser(proven, evidence, keepers))
    findings = with_lost_workers(findings, evidence)
    if any(evidence.of(LogsGiven)):
        findings = _with_said(findings, said(evidence, catalogue()))
    unknown = what_stays_unknown(evidence, findings)
    healthy = healthy_tasks(evidence, findings)
    verdict = _verdict(evidence, findings, broken)
    diagnosis = Diagnosis(
        verdict=verdict,
        findings=findings,
        healthy=healthy,
        unknown=unknown,
        broken=broken,
        unusual=_unusual(evidence, verdict),
        taken_back=tuple(evidence.of(FindingTakenBack)),
    )
    return with_log_proof(diagnosis, evidence)


def _with_said(proven: tuple[Finding, ...], said: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """What logs say in its order; where a rule proves the same cause, in its better words.

    What blames nobody yields to a rule that tells it more exactly, and so does what one says that
    the rule is about: its definition tells more than its words.
    """
    errors = [finding for finding in proven if finding.severity is Severity.ERROR]
    better = {finding.name: finding for finding in reversed(errors)}
    vague = [
        one
        for one in said
        if any(
            not _blames(one) or _is_about(better[name], one)
            for name in one.cause.yields_to & better.keys()
        )
    ]
    said = tuple(one for one in said if one not in vague)
    proven = tuple(_with_echoes(finding, vague) for finding in proven)
    told = dict.fromkeys(finding.name for finding in said)
    first = [better.get(finding.name, finding) for finding in said]
    once = [one for at, one in enumerate(first) if one not in first[:at]]
    return (*once, *(finding for finding in proven if finding.name not in told))


def _with_echoes(finding: Finding, vague: list[Finding]) -> Finding:
    """With those who told the same, and blamed nobody, as its victims."""
    known = {finding.proof.culprit, *(echo.task for echo in finding.echoes)}
    told = {
        fact.task: Echo(
            task=fact.task,
            cause=one.name,
            says=one.proof.says,
            since_s=fact.at_s,
            facts=(fact,),
        )
        for one in vague
        if finding.name in one.cause.yields_to
        for fact in one.proof.facts
        if fact.task and fact.task not in known
    }
    return replace(finding, echoes=(*finding.echoes, *told.values()))


def _is_about(rule: Finding, said: Finding) -> bool:
    """Whether it tells what is wrong with those who say something of another."""
    speakers = {fact.task for fact in said.proof.facts}
    if rule.proof.culprit is not None:
        return speakers == {rule.proof.culprit}
    return speakers <= {fact.task for fact in rule.proof.facts}


def _blames(finding: Finding) -> bool:
    return bool(finding.proof.culprit or finding.proof.place)


def _unusual(evidence: Evidence, verdict: Verdict) -> tuple[Unusual, ...]:
    """Only for logs that are all there is: of a run, the last words of those who failed tell."""
    given = any(evidence.of(LogsGiven))
    return unusual(evidence) if given and verdict is Verdict.CANNOT_TELL else ()


def _errors(proven: list[Finding], evidence: Evidence) -> tuple[Finding, ...]:
    """What keeps the job from running: the culprit first, whoever suffers as its echoes."""
    errors = [finding for finding in proven if finding.severity is Severity.ERROR]
    waits = waits_for(evidence, errors)
    findings = fold(errors, waits, evidence)
    return with_stranded(with_waiters(findings, waits, evidence), evidence)


def _lesser(
    proven: list[Finding], evidence: Evidence, keepers: set[TaskId | None]
) -> tuple[Finding, ...]:
    """Warnings, notices, then what is only worth knowing: none explains anybody's failure.

    `keepers` keep others waiting: whatever says why shows whom, too.
    """
    named = {(finding.name, finding.proof.culprit) for finding in proven}
    errors = {
        (finding.name, finding.proof.culprit)
        for finding in proven
        if finding.severity is Severity.ERROR
    }
    explained = {
        task
        for finding in proven
        if finding.severity is Severity.ERROR
        for task in sufferers(finding)
    }
    lesser = [
        finding
        for finding in proven
        if finding.severity is not Severity.ERROR
        and not (finding.cause.last_resort and finding.proof.culprit in explained)
        and (finding.name, finding.proof.culprit) not in errors
        and not any((name, finding.proof.culprit) in named for name in finding.cause.yields_to)
    ]
    ordered = sorted(lesser, key=_lesser_order)
    keeping = tuple(one for one in ordered if one.proof.culprit in keepers)
    others = (one for one in ordered if one.proof.culprit not in keepers)
    waiting = with_waiters(keeping, waits_for(evidence, ()), evidence)
    return tuple(sorted((*waiting, *others), key=_lesser_order))


def _lesser_order(finding: Finding) -> tuple[bool, bool, bool, float, str]:
    """Who keeps others waiting comes first; what is sure before what is only likely."""
    unsure = finding.proof.confidence in {Confidence.LIKELY, Confidence.GUESS}
    info = finding.severity is Severity.INFO
    return (info, not finding.cause.general, unsure, finding.proof.since_s, finding.name)


def _stands_still(finding: Finding) -> bool:
    """Whether it says who stands still, in general or by a cause, however loud."""
    return finding.severity is Severity.NOTICE or finding.is_of_standstill


def _verdict(
    evidence: Evidence,
    findings: tuple[Finding, ...],
    broken: dict[str, str],
) -> Verdict:
    if any(finding.severity is Severity.ERROR for finding in findings):
        return Verdict.SICK
    unfinished = (
        unexplained(findings, evidence)
        or any(evidence.of(StartBlocked))
        or bool(evidence.unseen_ends())
        or (any(evidence.of(LogsGiven)) and is_troubled(evidence))
        or are_empty(evidence)
        or any(finding.proof.confidence is Confidence.GUESS for finding in findings)
        or any(_stands_still(one) or one.cause.leaves_doubt for one in findings)
        or (is_run(evidence) and any(map(partial(fell_idle, evidence), evidence.tasks)))
        or (needs_proof(evidence) and not any(map(partial(trained, evidence), evidence.tasks)))
    )
    if broken or not evidence.facts or unfinished:
        return Verdict.CANNOT_TELL
    return Verdict.HEALTHY

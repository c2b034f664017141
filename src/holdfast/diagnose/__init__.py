"""From evidence to findings. One pure function, called before, during and after a run."""

import sys
from functools import cache

from holdfast import open_folder
from holdfast.diagnose.by_logs import said
from holdfast.diagnose.ended_over import ended_over
from holdfast.diagnose.fold import fold
from holdfast.diagnose.healthy import healthy_tasks
from holdfast.diagnose.log_farewells import ALSO_LEAVING
from holdfast.diagnose.log_pauses import ALSO_PAUSED
from holdfast.diagnose.log_records import ALSO_BELOW
from holdfast.diagnose.log_stalls import ALSO_STALLED
from holdfast.diagnose.log_summaries import ALSO_SUMMED_UP
from holdfast.diagnose.stranded import with_stranded
from holdfast.diagnose.unknown import are_empty, what_stays_unknown
from holdfast.diagnose.unusual import is_troubled, unusual
from holdfast.diagnose.waiters import with_waiters
from holdfast.diagnose.waits import waits_for
from holdfast.model.evidence import Evidence
from holdfast.model.facts import StartBlocked
from holdfast.model.findings import (
    Cause,
    Confidence,
    Diagnosis,
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
    return sys.modules[open_folder.names("holdfast.catalogue")[name]].__doc__ or ""


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
    findings = (*_errors(proven, evidence), *_lesser(proven))
    if any(evidence.of(LogsGiven)):
        findings = _with_said(findings, said(evidence, catalogue()))
    unknown = what_stays_unknown(evidence, findings)
    verdict = _verdict(evidence, findings, broken)
    return Diagnosis(
        verdict=verdict,
        findings=findings,
        healthy=healthy_tasks(evidence, findings),
        unknown=unknown,
        broken=broken,
        unusual=_unusual(evidence, verdict),
    )


def _with_said(proven: tuple[Finding, ...], said: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """What logs say in its order; where a rule proves the same cause, in its better words."""
    errors = [finding for finding in proven if finding.severity is Severity.ERROR]
    better = {finding.name: finding for finding in reversed(errors)}
    told = dict.fromkeys(finding.name for finding in said)
    first = [better.get(finding.name, finding) for finding in said]
    once = [one for at, one in enumerate(first) if one not in first[:at]]
    return (*once, *(finding for finding in proven if finding.name not in told))


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


def _lesser(proven: list[Finding]) -> tuple[Finding, ...]:
    """Warnings, then what is only worth knowing: none of them explains anybody's failure."""
    told = {(finding.name, finding.proof.culprit) for finding in proven}
    errors = {
        (finding.name, finding.proof.culprit)
        for finding in proven
        if finding.severity is Severity.ERROR
    }
    lesser = [
        finding
        for finding in proven
        if finding.severity is not Severity.ERROR
        and (finding.name, finding.proof.culprit) not in errors
        and not any((name, finding.proof.culprit) in told for name in finding.cause.yields_to)
    ]
    return tuple(sorted(lesser, key=_lesser_order))


def _lesser_order(finding: Finding) -> tuple[bool, bool, float, str]:
    """What is sure comes before what is only likely."""
    unsure = finding.proof.confidence in {Confidence.LIKELY, Confidence.GUESS}
    return (finding.severity is Severity.INFO, unsure, finding.proof.since_s, finding.name)


def _verdict(evidence: Evidence, findings: tuple[Finding, ...], broken: dict[str, str]) -> Verdict:
    if any(finding.severity is Severity.ERROR for finding in findings):
        return Verdict.SICK
    unfinished = (
        any(evidence.failures())
        or any(evidence.of(StartBlocked))
        or bool(evidence.unseen_ends())
        or (any(evidence.of(LogsGiven)) and is_troubled(evidence))
        or are_empty(evidence)
        or any(finding.proof.confidence is Confidence.GUESS for finding in findings)
    )
    if broken or not evidence.facts or unfinished:
        return Verdict.CANNOT_TELL
    return Verdict.HEALTHY

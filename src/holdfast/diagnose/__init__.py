"""From evidence to findings. One pure function, called before, during and after a run."""

import sys
from functools import cache

from holdfast import open_folder
from holdfast.diagnose.fold import fold
from holdfast.diagnose.healthy import healthy_tasks
from holdfast.diagnose.stranded import with_stranded
from holdfast.diagnose.unknown import what_stays_unknown
from holdfast.diagnose.waiters import with_waiters
from holdfast.diagnose.waits import waits_for
from holdfast.model.evidence import Evidence
from holdfast.model.facts import StartBlocked
from holdfast.model.findings import Cause, Confidence, Diagnosis, Finding, Severity, Verdict
from holdfast.model.pattern import AnyOf


@cache
def catalogue() -> dict[str, Cause]:
    """Every cause we know, under its name."""
    causes: dict[str, Cause] = open_folder.load("holdfast.catalogue", "cause")
    return causes


@cache
def telling_lines() -> AnyOf:
    """The lines worth a fact: agents drop the rest."""
    return AnyOf(pattern for cause in catalogue().values() for pattern in cause.hears)


def page(name: str) -> str:
    """What a person should know about one cause: its file's docstring."""
    return sys.modules[catalogue()[name].detect.__module__].__doc__ or ""


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
    findings = (*_errors(proven, evidence), *_lesser(proven))
    unknown = what_stays_unknown(evidence, findings)
    return Diagnosis(
        verdict=_verdict(evidence, findings, broken),
        findings=findings,
        healthy=healthy_tasks(evidence, findings),
        unknown=unknown,
        broken=broken,
    )


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
        any(evidence.failures()) or any(evidence.of(StartBlocked)) or evidence.unseen_ends()
    )
    if broken or not evidence.facts or unfinished:
        return Verdict.CANNOT_TELL
    return Verdict.HEALTHY

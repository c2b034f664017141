"""The verdict as JSON: the one schema that every machine reader gets."""

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any, Final

from holdfast.model.cluster import TaskId
from holdfast.model.evidence import Evidence
from holdfast.model.facts import (
    AttemptStarted,
    Fact,
    LastWords,
    LogLine,
    TaskStarted,
    TracebackSeen,
)
from holdfast.model.findings import Diagnosis, Finding
from holdfast.model.redact import redact
from holdfast.views.fact_text import fact_text
from holdfast.views.sanitise import plain

SCHEMA: Final = "holdfast.report/1"
TEXT_CHARACTERS_MAX: Final = 500
EVIDENCE_MAX: Final = 20
ECHOES_MAX: Final = 1000
LAST_WORDS_MAX: Final = 20

LogName = Callable[[TaskId, int, str], str]  # task, attempt, stream -> path in the run directory


def report(diagnosis: Diagnosis, evidence: Evidence, *, log_name: LogName) -> dict[str, Any]:
    """What report.json and every `--format json` hold. No secrets, no control characters."""
    unexplained = _unexplained(diagnosis, evidence)
    return {
        "schema": SCHEMA,
        "verdict": str(diagnosis.verdict),
        "findings": [
            _finding(finding, evidence, log_name=log_name) for finding in diagnosis.findings
        ],
        "healthy": [str(task) for task in diagnosis.healthy],
        "unknown": [fit(text) for text in diagnosis.unknown],
        "broken": {fit(name): fit(why) for name, why in diagnosis.broken.items()},
        "last_words": {str(task): _last_words(task, evidence) for task in unexplained},
        "logs": {
            str(task): [fit(log_name(task, evidence.attempt, stream)) for stream in ("err", "out")]
            for task in unexplained
        },
    }


def finding_line(finding: Finding, evidence: Evidence, *, log_name: LogName) -> bytes:
    """One finding as one line of findings.jsonl, without its end."""
    shown = _finding(finding, evidence, log_name=log_name)
    return json.dumps(shown, ensure_ascii=False).encode()


def fit(text: str) -> str:
    """A stranger's text as a report may hold it: sanitised first, so that no escape hides a key."""
    said = redact(plain(text))
    return said if len(said) <= TEXT_CHARACTERS_MAX else said[: TEXT_CHARACTERS_MAX - 1] + "…"


def _finding(finding: Finding, evidence: Evidence, *, log_name: LogName) -> dict[str, Any]:
    proof = finding.proof
    telling = sorted(proof.facts[:EVIDENCE_MAX], key=lambda fact: fact.at_s)
    return {
        "cause": finding.name,
        "family": finding.cause.family,
        "severity": str(finding.severity),
        "culprit": _name(proof.culprit),
        "host": fit(_host(finding, evidence)),
        "confidence": str(proof.confidence),
        "since": _clock(proof.since_s, evidence),
        "says": fit(proof.says),
        "do": [fit(text) for text in proof.do],
        "evidence": [_entry(fact, evidence, log_name=log_name) for fact in telling],
        "echoes": [
            {"task": str(echo.task), "cause": echo.cause, "says": fit(echo.says)}
            for echo in finding.echoes[:ECHOES_MAX]
        ],
    }


def _entry(fact: Fact, evidence: Evidence, *, log_name: LogName) -> dict[str, Any]:
    file = line = None
    if isinstance(fact, LogLine | TracebackSeen) and fact.task is not None:
        file = fit(log_name(fact.task, fact.attempt, fact.stream))
        line = fact.line or None
    return {
        "task": _name(fact.task),
        "file": file,
        "line": line,
        "text": fit(fact_text(fact)),
        "at": _clock(fact.at_s, evidence),
    }


def _host(finding: Finding, evidence: Evidence) -> str:
    """Where the culprit runs; without a culprit, where the first telling fact was seen."""
    proof = finding.proof
    started = (fact.host for fact in evidence.of(TaskStarted) if fact.task == proof.culprit)
    own = (fact.host for fact in proof.facts if fact.task == proof.culprit)
    return next((host for host in (*started, *own) if host), proof.facts[0].host)


def _clock(at_s: float, evidence: Evidence) -> str | None:
    """ISO 8601 in UTC; None when nobody recorded when the attempt began."""
    if not any(evidence.of(AttemptStarted)):
        return None
    moment = datetime.fromtimestamp(evidence.began_unix_s() + at_s, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _name(task: TaskId | None) -> str | None:
    return None if task is None else str(task)


def _unexplained(diagnosis: Diagnosis, evidence: Evidence) -> list[TaskId]:
    """Failed tasks that no finding speaks of."""
    spoken_of: set[TaskId | None] = set()
    for finding in diagnosis.findings:
        spoken_of |= {finding.proof.culprit, finding.proof.seen_at}
        spoken_of |= {echo.task for echo in finding.echoes}
    failed = (exited.task for exited in evidence.failures())
    return [task for task in failed if task is not None and task not in spoken_of]


def _last_words(task: TaskId, evidence: Evidence) -> list[str]:
    """What stderr ended with, or stdout when stderr stayed silent."""
    by_stream = {fact.stream: fact for fact in evidence.of(LastWords, task)}
    for stream in ("err", "out"):
        if stream in by_stream:
            lines = list(_fit_lines(by_stream[stream].lines))
            if lines:
                return lines[-LAST_WORDS_MAX:]
    return []


def _fit_lines(lines: tuple[str, ...]) -> Iterator[str]:
    """Redacted as one text first: a private key spans many lines."""
    for line in redact("\n".join(lines)).split("\n"):
        if line.strip():
            yield fit(line)

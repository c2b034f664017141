"""The verdict as JSON: the one schema that every machine reader gets."""

import json
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import islice
from typing import Any, Final

from holdfast.diagnose.lost_workers import lost_workers
from holdfast.diagnose.timeline import Moment, timeline
from holdfast.model.cluster import TaskId
from holdfast.model.evidence import Evidence
from holdfast.model.facts import (
    Fact,
    LastWords,
    LogLine,
    OutputEnded,
    StopAsked,
    TaskStarted,
    TracebackSeen,
)
from holdfast.model.findings import Diagnosis, Finding, Unusual, Verdict
from holdfast.model.log_facts import LogsGiven
from holdfast.model.log_prefix import said_in
from holdfast.model.noise import noise_in
from holdfast.model.redact import redact
from holdfast.views.fact_text import fact_text
from holdfast.views.sanitise import plain
from holdfast.views.taken_back import taken_back_shown

SCHEMA: Final = "holdfast.report/1"
TEXT_CHARACTERS_MAX: Final = 500
EVIDENCE_MAX: Final = 20
ECHOES_MAX: Final = 1000
LAST_WORDS_MAX: Final = 20
SOURCES_MAX: Final = 1000
NOISE_KINDS_MAX: Final = 20
SILENT_MAX: Final = 12  # tasks or files whose last words are kept where nothing is proven

LogName = Callable[[TaskId, int, str], str]  # task, attempt, stream -> path in the run directory


def report(diagnosis: Diagnosis, evidence: Evidence, *, log_name: LogName) -> dict[str, Any]:
    """What report.json and every `--format json` hold. No secrets, no control characters."""
    unexplained = _unexplained(diagnosis, evidence)
    made: dict[str, Any] = {
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
        "timeline": _timeline(timeline(evidence, diagnosis), evidence, log_name=log_name),
        **taken_back_shown(
            diagnosis.taken_back, fit=fit, clock=lambda at_s: _clock(at_s, evidence)
        ),
    }
    if lost := lost_workers(evidence):
        steps = {str(task): at.step if at.step >= 0 else None for task, at in lost.steps.items()}
        made["done"] = {"by": str(lost.chief), "says": lost.says, "lost": steps}
    if stop := next(evidence.of(StopAsked), None):
        made["stop_asked_by"] = fit(stop.by)
    if any(evidence.of(LogsGiven)):
        made["sources"] = list(islice(_sources(evidence), SOURCES_MAX))
        made["noise"] = _noise(evidence)
        made["unusual"] = [_stands_out(one) for one in diagnosis.unusual]
        if diagnosis.verdict is Verdict.CANNOT_TELL:
            made["unusual"] = [_unusual(one) for one in diagnosis.unusual]
            _add_last_words(made, evidence)
    return made


def finding_line(finding: Finding, evidence: Evidence, *, log_name: LogName) -> bytes:
    """One finding as one line of findings.jsonl, without its end."""
    shown = _finding(finding, evidence, log_name=log_name)
    if evidence.attempt > 1:
        shown["attempt"] = evidence.attempt
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
        "culprit": _name(proof.culprit) or fit(proof.place) or None,
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
    file, line = _where(fact, log_name=log_name)
    return {
        "task": _name(fact.task),
        "file": file,
        "line": line,
        "text": fit(_on_one_line(fact_text(fact))),
        "at": _clock(fact.at_s, evidence),
    }


def _timeline(
    moments: Sequence[Moment], evidence: Evidence, *, log_name: LogName
) -> list[dict[str, Any]]:
    shown = []
    for moment in moments:
        fact = moment.fact
        file, line = (None, None) if fact is None else _where(fact, log_name=log_name)
        shown.append(
            {
                "at": _clock(moment.at_s, evidence),
                "at_s": round(moment.at_s, 3),
                "task": _name(moment.task),
                "file": file,
                "line": line,
                "text": fit(_on_one_line(_told(moment, moments))),
                "role": str(moment.role),
            }
        )
    return shown


def _told(moment: Moment, moments: Sequence[Moment]) -> str:
    match moment.fact:
        case None:
            return moment.says
        case LogLine(text=text):
            return _without_prefix(text.strip().partition("\n")[0])
        case LastWords():
            return _silence(moment.fact, moments)
    return fact_text(moment.fact)


def _silence(words: LastWords, moments: Sequence[Moment]) -> str:
    """After what a task fell silent: not once more, where it is a moment of its own."""
    last = next((line.strip() for line in reversed(words.lines) if line.strip()), "")
    if not last:
        return "said nothing"
    others = (one.fact for one in moments if one.fact is not words)
    told = (fact for fact in others if isinstance(fact, LogLine | TracebackSeen))
    own = (fact for fact in told if (fact.task, fact.source) == (words.task, words.source))
    if any(last in fact_text(fact) for fact in own):
        return "falls silent after these words"
    return f"falls silent after: {_without_prefix(last)}"


def _without_prefix(line: str) -> str:
    """What is said, without the time and place that stand in front: the moment has its own."""
    return said_in(line).text.strip() or line.strip()


def _on_one_line(text: str) -> str:
    """A message of several lines reads better with spaces than with the marks of their ends."""
    return " ".join(part.strip() for part in text.split("\n")) if "\n" in text else text


def _where(fact: Fact, *, log_name: LogName) -> tuple[str | None, int | None]:
    """The file that a fact was read from, and its line there."""
    if not isinstance(fact, LogLine | TracebackSeen | LastWords):
        return None, None
    line = None if isinstance(fact, LastWords) else fact.line or None
    if fact.source:
        return fit(fact.source), line
    if fact.task is None or isinstance(fact, LastWords):
        return None, None
    return fit(log_name(fact.task, fact.attempt, fact.stream)), line


def _sources(evidence: Evidence) -> Iterator[dict[str, Any]]:
    """The files that were read, and whose they are as far as one can tell."""
    for ended in sorted(evidence.of(OutputEnded), key=lambda ended: ended.source):
        yield {
            "file": fit(ended.source),
            "task": _name(ended.task),
            "bytes": ended.bytes_total,
            "lines": ended.lines_total,
        }


def _unusual(one: Unusual) -> dict[str, Any]:
    return {
        "task": _name(one.task),
        "file": fit(one.file) or None,
        "line": one.line or None,
        "text": fit(_on_one_line(one.text)),
        "at": None,
        "why": fit(one.why),
    }


def _noise(evidence: Evidence) -> dict[str, Any]:
    """How many lines sound bad and mean nothing, and why they do, the commonest first."""
    kinds = noise_in(line.text for line in evidence.of(LogLine))
    return {"lines": sum(kinds.values()), "kinds": [fit(why) for why in kinds][:NOISE_KINDS_MAX]}


def _add_last_words(made: dict[str, Any], evidence: Evidence) -> None:
    """What each task ended with, or a file of nobody, where nothing proves a cause."""
    for words in evidence.of(LastWords):
        whose = _name(words.task) or fit(words.source)
        lines = list(_fit_lines(words.lines))[-LAST_WORDS_MAX:]
        if whose not in made["last_words"] and len(made["last_words"]) == SILENT_MAX:
            continue
        if lines or whose not in made["last_words"]:
            made["last_words"][whose] = lines
        if words.task is not None:
            made["logs"].setdefault(whose, []).append(fit(words.source))


def _stands_out(one: Unusual) -> dict[str, Any]:
    return {
        "task": _name(one.task),
        "file": fit(one.file),
        "line": one.line or None,
        "text": fit(one.text),
        "at": None,
        "why": one.why,
    }


def _host(finding: Finding, evidence: Evidence) -> str:
    """Where the culprit runs; without a culprit, where the first telling fact was seen."""
    proof = finding.proof
    started = (fact.host for fact in evidence.of(TaskStarted) if fact.task == proof.culprit)
    own = (fact.host for fact in proof.facts if fact.task == proof.culprit)
    return next((host for host in (*started, *own) if host), proof.facts[0].host)


def _clock(at_s: float, evidence: Evidence) -> str | None:
    """ISO 8601 in UTC; None when nobody knows when the attempt began."""
    began_s = evidence.began_unix_s()
    if not began_s:
        return None
    moment = datetime.fromtimestamp(began_s + at_s, UTC)
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

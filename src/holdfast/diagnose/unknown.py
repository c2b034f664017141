"""What the facts cannot say, said openly."""

from collections.abc import Iterator, Sequence

from holdfast.model.evidence import Evidence
from holdfast.model.facts import (
    AttemptEnded,
    OutputEnded,
    ProbeBlind,
    StartBlocked,
    TaskStarted,
    UnknownFact,
)
from holdfast.model.findings import Finding
from holdfast.model.log_facts import LogsGiven
from holdfast.model.signals import signal_name


def what_stays_unknown(evidence: Evidence, findings: Sequence[Finding]) -> tuple[str, ...]:
    return (
        *_unexplained(evidence, findings),
        *_unseen(evidence),
        *_absent(evidence, findings),
        *_blind(evidence),
        *_unread(evidence),
        *(note for given in evidence.of(LogsGiven) for note in given.notes),
        *(("what happened: the logs are empty",) if are_empty(evidence) else ()),
        *_unfinished(evidence),
    )


def are_empty(evidence: Evidence) -> bool:
    """Whether logs are all there is, and no line stands in them: nobody may call that healthy."""
    lines = sum(ended.lines_total for ended in evidence.of(OutputEnded))
    return any(evidence.of(LogsGiven)) and not lines


def _unexplained(evidence: Evidence, findings: Sequence[Finding]) -> Iterator[str]:
    explained = {finding.proof.culprit for finding in findings}
    explained |= {finding.proof.seen_at for finding in findings}
    explained |= {echo.task for finding in findings for echo in finding.echoes}
    for failure in evidence.failures():
        if failure.task not in explained:
            number = failure.signal
            how = f"on {signal_name(number)}" if number else f"with exit code {failure.exit_code}"
            yield f"why {failure.task} ended {how}: nothing it left behind proves a cause"


def _unseen(evidence: Evidence) -> Iterator[str]:
    for task in evidence.unseen_ends():
        yield f"how {task} ended: the process that held it was gone, and the kernel told nobody"


def _absent(evidence: Evidence, findings: Sequence[Finding]) -> Iterator[str]:
    explained = {str(finding.proof.culprit) for finding in findings}
    for blocked in evidence.of(StartBlocked):
        for name in blocked.missing:
            if name not in explained:
                yield f"why {name} was not up after {blocked.deadline_s:g} s"


def _blind(evidence: Evidence) -> Iterator[str]:
    """A probe that saw nothing because it could not look matters only when somebody died."""
    if any(evidence.failures()) or evidence.unseen_ends():
        for fact in evidence.of(ProbeBlind):
            yield f"{fact.probe}: {fact.why}"


def _unread(evidence: Evidence) -> Iterator[str]:
    for fact in evidence.of(OutputEnded):
        if fact.lines_left_out:
            yield (
                f"{fact.lines_left_out} more telling lines of {fact.task} (std{fact.stream}):"
                " they are in its log, but not in the journal"
            )
    unknown = sum(1 for _ in evidence.of(UnknownFact))
    if unknown:
        yield f"{unknown} facts of a newer Holdfast, which this one cannot read"


def _unfinished(evidence: Evidence) -> Iterator[str]:
    """A journal that stops in the middle: the supervisor died, or is still at it."""
    if any(evidence.of(AttemptEnded)):
        return
    running = [
        str(fact.task) for fact in evidence.of(TaskStarted) if evidence.exit_of(fact.task) is None
    ]
    if running:
        yield f"how {', '.join(running)} ended: still running when the journal was read"

"""What the facts cannot say, said openly."""

from collections.abc import Iterator, Sequence

from holdfast.diagnose.healthy import blocked_start, fell_idle, got_on, is_run
from holdfast.model.evidence import Evidence
from holdfast.model.facts import (
    Attached,
    AttemptEnded,
    OutputEnded,
    PeersListed,
    ProbeBlind,
    StartBlocked,
    TaskStarted,
    UnknownFact,
)
from holdfast.model.findings import Finding, Severity
from holdfast.model.log_facts import LogsGiven
from holdfast.model.signals import signal_name
from holdfast.model.words import WHETHER_FINISHED, listed, wait


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
        *_unproven(evidence, findings),
        *_training(evidence, findings),
        *_whom_they_seek(evidence, findings),
    )


def are_empty(evidence: Evidence) -> bool:
    """Whether logs are all there is, and no line stands in them: nobody may call that healthy."""
    lines = sum(ended.lines_total for ended in evidence.of(OutputEnded))
    return any(evidence.of(LogsGiven)) and not lines


def _unexplained(evidence: Evidence, findings: Sequence[Finding]) -> Iterator[str]:
    reasons = [
        one for one in findings if not one.cause.last_resort or one.severity is Severity.ERROR
    ]
    explained = {finding.proof.culprit for finding in reasons}
    explained |= {finding.proof.seen_at for finding in reasons}
    explained |= {echo.task for finding in reasons for echo in finding.echoes}
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
    """A probe that saw nothing because it could not look matters when somebody died, or hangs."""
    if any(evidence.failures()) or evidence.unseen_ends() or any(evidence.of(Attached)):
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


def _unproven(evidence: Evidence, findings: Sequence[Finding]) -> Iterator[str]:
    """Who ran, and was never seen to get on: nobody may call that healthy."""
    if not is_run(evidence):
        return
    if waits := blocked_start(evidence):
        yield f"how it would have gone on: it was stopped at its start, when {waits}"
        return
    # That it was slow or starved does not say how it fared.
    telling = [
        one for one in findings if one.severity is not Severity.WARNING or one.is_of_standstill
    ]
    explained = {finding.proof.culprit for finding in telling}
    explained |= {echo.task for finding in telling for echo in finding.echoes}
    # Where nobody alone is to blame, the finding is about those whose facts prove it.
    nobodys = [one for one in findings if one.proof.culprit is None and one.is_of_standstill]
    explained |= {fact.task for finding in nobodys for fact in finding.proof.facts}
    started = {fact.task for fact in evidence.of(TaskStarted)}
    for task in evidence.tasks:
        silent = task in started and not got_on(evidence, task) and task not in explained
        if silent and evidence.failure_of(task) is None and task not in evidence.unseen_ends():
            idle = fell_idle(evidence, task)
            why = (
                "it did nothing any more when it was stopped"
                if idle
                else "nothing shows that it got on"
            )
            yield f"how {task} fared: {why}"


def _training(evidence: Evidence, findings: Sequence[Finding]) -> Iterator[str]:
    """Of a cluster that somebody else has started: servers answer also where nobody trains."""
    severities = {finding.severity for finding in findings}
    if not any(evidence.of(Attached)) or Severity.ERROR in severities:
        return
    trainers = [task for task in evidence.tasks if task.trains]
    unseen = [task for task in trainers if not got_on(evidence, task)]
    if unseen == trainers and not severities - {Severity.INFO}:
        yield f"{WHETHER_FINISHED}it trains: its servers answer, and nothing here shows a step"
        return
    told = {fact.task for finding in findings for fact in finding.proof.facts}
    if left := [task for task in unseen if task not in told]:
        yield f"how {listed(left)} fared: nothing here shows a step"


def _whom_they_seek(evidence: Evidence, findings: Sequence[Finding]) -> Iterator[str]:
    """Tasks that wait for somebody, who may be none of those that we were told of."""
    last = {fact.task: fact for fact in evidence.of(PeersListed)}
    seek = [task for task, fact in last.items() if task is not None and not fact.answered]
    if seek and not any(finding.severity is Severity.ERROR for finding in findings):
        yield (
            f"for whom {listed(seek)} {wait(len(seek))}: name all addresses, or the TF_CONFIG of"
            " a task; their own logs name the one they wait for"
        )


def _unfinished(evidence: Evidence) -> Iterator[str]:
    """A journal that stops in the middle: the supervisor died, or is still at it."""
    if any(evidence.of(AttemptEnded)):
        return
    running = [
        str(fact.task) for fact in evidence.of(TaskStarted) if evidence.exit_of(fact.task) is None
    ]
    if running:
        yield f"how {', '.join(running)} ended: still running when the journal was read"

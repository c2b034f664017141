"""A program logged an exception into a file of its own, and went on or ended as if all was well.

## What you see
Nothing in the task's output, and often exit code 0. The traceback stands in a file that the
program keeps for itself: `logging.basicConfig(filename=…)`, `logger.exception(…)`.

## Why it happens
A broad `except` around a step or around the whole training, which writes down what it caught and
does not pass it on. Rows or steps are left out, or the training has ended early, and whoever
started the job is told that it succeeded.

## How to confirm it by hand
`grep -n Traceback FILE`, with the file that is named.

## What to do
Correct the line. Where the training cannot go on without it, pass the exception on (`raise`), so
that the job ends with its own failure.

## When this accusation would be wrong
When the program expected the exception and coped with it: that is why this is a warning and never
an error. Nothing is told where the line above the traceback calls itself less than an error, or
says that it is tried again; nor of a lost peer, nor of who was interrupted or asked to end.
"""

from collections.abc import Iterator

from holdfast.model.cluster import TaskId
from holdfast.model.evidence import Evidence
from holdfast.model.findings import Cause, Confidence, Proof, Severity
from holdfast.model.lost_peer import ABORTED, LOST, LOST_ERRORS
from holdfast.model.origin import origin_of
from holdfast.model.pattern import Pattern
from holdfast.model.remedies import AskHuman
from holdfast.model.told_facts import ExceptionLogged

ASKED_TO_END = Pattern(r"(?:^|\.)(?:KeyboardInterrupt|SystemExit|GeneratorExit|StopIteration)$")
# What the program itself says above it: no error, or one that is not the last word.
CALM = Pattern(
    r"\b(?:DEBUG|WARN|WARNING|Debug|Warning)\b|(?i:\bretry|\bretries|\btry(?:ing)? again)"
)


def detect(evidence: Evidence) -> Iterator[Proof]:
    first: dict[tuple[TaskId, str, str], ExceptionLogged] = {}
    last: dict[tuple[TaskId, str, str], ExceptionLogged] = {}
    for fact in evidence.of(ExceptionLogged):
        if fact.task is not None and not _is_expected(fact) and not _is_of_others(evidence, fact):
            key = (fact.task, fact.exception, origin_of(fact).at)
            first.setdefault(key, fact)
            last[key] = fact
    told: set[TaskId] = set()
    for key, fact in first.items():
        if key[0] not in told:  # of many kinds, the first
            told.add(key[0])
            yield _proof(evidence, fact, last[key].times)


def _is_expected(fact: ExceptionLogged) -> bool:
    return bool(ASKED_TO_END.search(fact.exception) or CALM.search(fact.record))


def _is_of_others(evidence: Evidence, fact: ExceptionLogged) -> bool:
    """Whether a peer is to blame for it, or we: it was asked to end."""
    exited = evidence.exit_of(fact.task)
    if exited and evidence.ended_by_us(exited) and fact.at_s >= evidence.ending_s():
        return True
    if LOST.search(fact.message) or ABORTED.search(fact.message):
        return True
    others = any(failure.task != fact.task for failure in evidence.failures())
    return others and bool(LOST_ERRORS.search(fact.exception))


def _proof(evidence: Evidence, fact: ExceptionLogged, times: int) -> Proof:
    origin = origin_of(fact)
    exited = evidence.exit_of(fact.task)
    place = f", raised at {origin.place}" if origin.place else ""
    often = f", {times} times" if times > 1 else ""
    above = f" ({fact.record})" if fact.record else ""
    end = f", and ended with exit code {exited.exit_code}" if exited and not exited.signal else ""
    return Proof(
        facts=(fact, *((exited,) if exited else ())),
        culprit=fact.task,
        confidence=Confidence.HIGH,
        says=f"{fact.task} logged {origin.text}{place}{often}, in {fact.path}{above}{end}",
        do=(
            f"correct the program at {origin.at}" if origin.at else f"read {fact.path}",
            "pass the exception on (raise) where the training cannot go on without it",
        ),
    )


cause = Cause(
    family="python-exception-user-code",
    detect=detect,
    remedy=AskHuman(),
    severity=Severity.WARNING,
    leaves_doubt=True,
    yields_to=frozenset({"user-exception"}),
)

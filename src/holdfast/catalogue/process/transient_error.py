"""An error that TensorFlow calls transient came out of the program's own code.

## What you see
`UnavailableError`, `AbortedError` or `DeadlineExceededError`, raised by a line of the program or of
a library that it reads its input with, in words of their own, while all other tasks were there.

## Why it happens
A storage server, a database or a service that the program asks was busy or away for a moment.
TensorFlow has the same names for a peer that is lost, and these words name none.

## How to confirm it by hand
The traceback ends in a line of the program, not in TensorFlow. The other tasks ran on, and lost
this one only afterwards.

## What to do
Try the call again, with pauses: `holdfast.tf.guard` around it does, and writes each error down with
its op and its place. A whole job is brought back by `holdfast run --on-failure recover`.

## When this accusation would be wrong
When a peer was gone before: then it is an echo, and is not told. It rests on the program's own
exception, not on time: a starved host does not raise it.
"""

from collections.abc import Iterator

from holdfast.model.cluster import TaskId
from holdfast.model.evidence import Evidence
from holdfast.model.findings import Cause, Confidence, Proof, Severity
from holdfast.model.lost_peer import is_about_no_peer, raised_over
from holdfast.model.origin import origin_of
from holdfast.model.remedies import Relaunch
from holdfast.model.told_facts import ErrorTold

GUARD = "from holdfast.tf import guard; guard()(FUNCTION)(…) tries again what may pass"


def detect(evidence: Evidence) -> Iterator[Proof]:
    for failure in evidence.failures():
        seen = evidence.last_traceback(failure.task)
        if seen is None or not all(
            is_about_no_peer(evidence, one) for one in raised_over(evidence, seen)
        ):
            continue
        origin = origin_of(seen)
        yield Proof(
            facts=(seen, failure),
            culprit=failure.task,
            confidence=Confidence.HIGH,
            says=f"{failure.task} ended with {origin.text}, raised at {origin.place}: TensorFlow"
            " counts it among those that may pass",
            do=(
                f"try it again in the program: {GUARD}",
                "or let the whole job be brought back: holdfast run --on-failure recover",
            ),
        )
    yield from _tried_again(evidence)


def _tried_again(evidence: Evidence) -> Iterator[Proof]:
    """What a guard in the program got over: nobody is to blame, and it is worth knowing."""
    told: dict[TaskId | None, list[ErrorTold]] = {}
    for fact in evidence.of(ErrorTold):
        if fact.again:
            told.setdefault(fact.task, []).append(fact)
    for task, errors in told.items():
        last = errors[-1]
        kind = last.exception.rpartition(".")[2]
        times = "once" if len(errors) == 1 else f"{len(errors)} times"
        at = f" at {last.at}" if last.at else ""
        yield Proof(
            facts=(last,),
            culprit=task,
            severity=Severity.INFO,
            says=f"the guard of {task} tried again {times}, the last time over {kind}:"
            f" {last.message.partition(chr(10))[0][:200]}{at}",
            do=(f"see them all: in-task/{str(task).replace(':', '-')}.*.errors.jsonl",),
        )


cause = Cause(
    family="python-exception-user-code",
    detect=detect,
    remedy=Relaunch(),
    preview=False,
)

"""The training diverged: the loss became NaN or infinite, or far worse than at the start.

## What you see
`Model diverged with loss = NaN`, `NanLossDuringTrainingError`, `Tensor had NaN values`, `Invalid
loss, terminating training`. Where the program tells its loss (`holdfast.progress`, the callback or
the hook of `holdfast.tf`), it is seen while the training goes on.

## Why it happens
A learning rate that is too high, a division by zero or a logarithm of zero in the loss, a NaN in
the input, half precision without loss scaling.

## How to confirm it by hand
Check the input with `tf.debugging.check_numerics`, and call
`tf.debugging.enable_check_numerics()` once to find the first operation that makes a NaN.

## What to do
Lower the learning rate, clip the gradients, keep `log` and division away from zero, and scale the
loss in half precision.

## When this accusation would be wrong
When a NaN was only printed, and the training went on. A loss that the program itself tells is
warned of when it was no number three times in a row, or ten times its first value over five. It
rests on numbers that were told: a starved task tells them later.
"""

from collections.abc import Iterator

from holdfast.model.evidence import Evidence
from holdfast.model.findings import Cause, Confidence, Proof, Severity
from holdfast.model.loss import DIVERGED, NAN, SURE_TELLS
from holdfast.model.pattern import Pattern
from holdfast.model.remedies import AskHuman
from holdfast.model.told_facts import LossTold
from holdfast.model.wording import Words
from holdfast.model.words import listed

STOPPED = Pattern(
    r"NanLossDuringTrainingError|Model diverged with loss = NaN"
    r"|Tensor had (?:NaN|Inf|-Inf|\+Inf)\b"
    r"|Batch \d+: Invalid loss, terminating training"
    r"|(?:Error|Exception): .*\b[Ll]oss (?:is|became) (?i:nan|inf)"
    r"|Loss is (?i:nan|inf(?:inite)?), stopping training"
    r"|FloatingPointError: .*(?:Minimum loss scale|nan)"
)
SAYS = "the training of {who} diverged: {line}"
DO = (
    "find the first operation that makes a NaN: tf.debugging.enable_check_numerics()",
    "lower the learning rate, clip the gradients, and look for NaN in the input",
)


def detect(evidence: Evidence) -> Iterator[Proof]:
    newest = {(told.task, told.name): told for told in evidence.of(LossTold)}
    for state in (NAN, DIVERGED):
        told = [one for one in newest.values() if one.state == state and one.task]
        if told:
            yield _proof(told, state)


def _proof(told: list[LossTold], state: str) -> Proof:
    """In lockstep all have the same loss, and nobody is to blame alone."""
    first = min(told, key=lambda one: (one.since_step, one.at_s))
    tasks = sorted({one.task for one in told if one.task})
    sure = any(one.tells >= SURE_TELLS for one in told)
    says = f"the {first.name} of {listed(tasks)} is not a number since step {first.since_step}"
    if state == DIVERGED:
        grown = f"from {first.first:g} to {first.loss:g} at step {first.step}"
        says = f"the {first.name} of {listed(tasks)} has grown {grown}"
    return Proof(
        facts=tuple(told),
        culprit=tasks[0] if len(tasks) == 1 else None,
        confidence=Confidence.HIGH if sure else Confidence.LIKELY,
        severity=Severity.WARNING,
        says=f"{says}: the training goes on, and learns nothing",
        do=DO,
    )


cause = Cause(
    family="python-exception-user-code",
    detect=detect,
    live=True,
    words=(Words(STOPPED, says=SAYS),),
    do=DO,
    remedy=AskHuman(),
)

"""The training diverged: the loss became NaN or infinite, and the program stopped over it.

## What you see
`Model diverged with loss = NaN`, `NanLossDuringTrainingError`, `Tensor had NaN values`, `Invalid
loss, terminating training`.

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
When a NaN was only printed, and the training went on.
"""

from holdfast.model.findings import Cause
from holdfast.model.pattern import Pattern
from holdfast.model.remedies import AskHuman
from holdfast.model.wording import Words

STOPPED = Pattern(
    r"NanLossDuringTrainingError|Model diverged with loss = NaN"
    r"|Tensor had (?:NaN|Inf|-Inf|\+Inf)\b"
    r"|Batch \d+: Invalid loss, terminating training"
    r"|(?:Error|Exception): .*\b[Ll]oss (?:is|became) (?i:nan|inf)"
    r"|Loss is (?i:nan|inf(?:inite)?), stopping training"
    r"|FloatingPointError: .*(?:Minimum loss scale|nan)"
)
SAYS = "the training of {who} diverged: {line}"

cause = Cause(
    family="python-exception-user-code",
    words=(Words(STOPPED, says=SAYS),),
    do=(
        "find the first operation that makes a NaN: tf.debugging.enable_check_numerics()",
        "lower the learning rate, clip the gradients, and look for NaN in the input",
    ),
    remedy=AskHuman(),
)

"""A worker went on training after its session had been told to stop.

## What you see
`RuntimeError: Run called even after should_stop requested.`

## Why it happens
The loop counts steps by itself, while a hook of the session (`StopAtStepHook`) or another worker
has reached the end: with several workers the global step moves without this loop.

## How to confirm it by hand
Look at the loop around `session.run`: it does not ask `session.should_stop()`.

## What to do
Write `while not session.should_stop():` around every `session.run`.

## When this accusation would be wrong
Never: the session says it of itself. But the training was over, and its last checkpoint is good.
"""

from holdfast.model.findings import Cause
from holdfast.model.pattern import Pattern
from holdfast.model.remedies import AskHuman
from holdfast.model.wording import Words

AFTER_STOP = Pattern(r"Run called even after should_stop requested")
SAYS = "{who} went on training after its session had stopped: {line}"

cause = Cause(
    family="python-exception-user-code",
    words=(Words(AFTER_STOP, says=SAYS),),
    do=("write `while not session.should_stop():` around session.run",),
    remedy=AskHuman(),
)

"""A task used a variable before anybody had initialised it.

## What you see
`FailedPreconditionError: Attempting to use uninitialized value`, or `Could not find variable ...
In TF1, it can also mean the variable is uninitialized`.

## Why it happens
Only the chief initialises variables, and this task did not wait for it; or the initialiser was
run before the variable was made; or a parameter server was restarted and lost its variables.

## How to confirm it by hand
Look whether the chief's log says that it initialised, and when, against the time of this line.

## What to do
Use `tf.compat.v1.train.MonitoredTrainingSession(master=..., is_chief=...)`, which waits for the
chief, or wait for `report_uninitialized_variables` to be empty before the first step.

## When this accusation would be wrong
When a parameter server has lost its variables because it was restarted: then its end is the
cause.
"""

from holdfast.model.findings import Cause
from holdfast.model.pattern import Pattern
from holdfast.model.remedies import AskHuman
from holdfast.model.wording import Words

UNINITIALISED = Pattern(
    r"Attempting to use uninitialized value"
    r"|In TF1, it can also mean the variable is uninitialized"
    r"|Error while reading resource variable \S+ from Container"
)
# A worker that waits for its chief to initialise them says which are still missing.
WAITS = Pattern(r"Waiting for model to be ready|Ready_for_local_init_op")
SAYS = "{who} used a variable that nobody had initialised: {line}"

cause = Cause(
    family="python-exception-user-code",
    words=(Words(UNINITIALISED, says=SAYS, unless=WAITS),),
    do=(
        "wait for the chief: MonitoredTrainingSession(server.target, is_chief=task_index == 0)",
        "run the initialiser after the last variable was made",
    ),
    remedy=AskHuman(),
)

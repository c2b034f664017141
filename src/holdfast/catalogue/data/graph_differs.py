"""A task has built another graph or model than its chief.

## What you see
One worker repeats `Waiting for model to be ready. … Variables not initialized: extra_layer`, every
30 s and for ever, while the chief and the others train. In PyTorch all end with `DDP expects same
model across all ranks`.

## Why it happens
In between-graph training the chief initializes the variables of its own graph. A worker whose
program, flags or version define one more variable, or another name, waits for it in vain.

## How to confirm it by hand
Print `[v.name for v in tf.compat.v1.global_variables()]` in the chief and in the worker, and
compare: the names after `not initialized:` are the ones that only the worker has.

## What to do
Start all tasks from the same code and with the same flags.

## When this accusation would be wrong
When all variables are listed, with the global step among them: then it is the chief that has not
started, and nobody is accused of another graph.
"""

from holdfast.model.findings import Cause
from holdfast.model.pattern import Pattern
from holdfast.model.remedies import AskHuman
from holdfast.model.wording import Words

cause = Cause(
    family="graph-mismatch",
    remedy=AskHuman(),
    words=(
        Words(
            Pattern(
                r"DDP expects same model across all ranks(?:, but (?P<culprit>Rank \d+) has"
                r" (?P<own>\d+) params, while rank 0 has inconsistent (?P<others>\d+))?"
            ),
            says="{who} has built another model than rank 0: {line}",
        ),
        Words(
            Pattern(
                r"(?:\[(?P<culprit>[Rr]ank ?\d+)\]: )?params?(?:\[\d+\])? in this process"
                r" with sizes? .* appears not to match"
            ),
            says="{who} has built another model than rank 0: {line}",
        ),
        Words(
            Pattern(r"Waiting for model to be ready.*Variables not initialized: (?P<names>[^:]+),"),
            # Without a name of its own, TensorFlow calls a step that is counted by hand so.
            unless=Pattern(r"not initialized: (?:[^:]*, )?(?:global_step\b|Variable(?:,|$))"),
            last=True,
            says="{who} waits for variables that the chief does not have: {names}",
        ),
    ),
    do=(
        "compare [v.name for v in tf.compat.v1.global_variables()] of this task and of the chief",
        "start all tasks from the same code and with the same flags",
    ),
)

"""A task has built another graph or model than its chief.

## What you see
One worker repeats `Waiting for model to be ready. … Variables not initialized: extra_layer`, every
30 s and for ever, while the chief and the others train. In PyTorch all end with `DDP expects same
model across all ranks`. Where tasks compare what they have built (`holdfast.tf.agree`), all end
before the first step with `the tasks of this job have not built the same`.

## Why it happens
In between-graph training the chief initializes the variables of its own graph. A worker whose
program, flags or version define one more variable, or another name, waits for it in vain. Other
layers, another optimizer, loss, strategy or input: tasks in lockstep hang or learn nonsense.

## How to confirm it by hand
Print `[v.name for v in tf.compat.v1.global_variables()]` in the chief and in the worker, and
compare: the names after `not initialized:` are the ones that only the worker has.

## What to do
Start all tasks from the same code and with the same flags.

## When this accusation would be wrong
When all variables are listed, with the global step among them: then it is the chief that has not
started, and nobody is accused of another graph.
"""

from collections.abc import Iterator

from holdfast.model.evidence import Evidence
from holdfast.model.findings import Cause, Proof
from holdfast.model.pattern import Pattern
from holdfast.model.remedies import AskHuman
from holdfast.model.told_differences import (
    difference_text,
    is_of_variables,
    odd_one,
    told_differences,
)
from holdfast.model.wording import Weight, Words


def detect(evidence: Evidence) -> Iterator[Proof]:
    """What tasks found when they compared themselves, but for the variables that all have."""
    found = told_differences(evidence)
    told = [fact for fact in found if not is_of_variables(fact)]
    if not told or len(told) < len(found):
        return  # with other variables, all else is different too
    odd = odd_one(evidence, told)
    who = f"{odd} has not built the same as the others" if odd else ""
    who = who or "the tasks have not built the same"
    more = f", and {len(told) - 1} more" if len(told) > 1 else ""
    yield Proof(
        facts=tuple(told),
        culprit=odd,
        says=f"{who}: {difference_text(told[0])}{more}",
        do=(f"compare the program, the flags and the input of {odd or 'all tasks'}", SAME),
    )


SAME = "start all tasks from the same code and with the same flags"
cause = Cause(
    family="graph-mismatch",
    detect=detect,
    remedy=AskHuman(),
    words=(
        Words(
            Pattern(r"^(?P<culprit>[a-z_]+:\d+) differs from most tasks\.$"),
            says="{who} has not built the same as the others: {line}",
        ),
        Words(
            Pattern(r"the tasks of this job have not built the same"),
            weight=Weight.SIGN,
            blames_nobody=True,
            says="tasks have built different models: {line}",
        ),
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
        SAME,
    ),
)

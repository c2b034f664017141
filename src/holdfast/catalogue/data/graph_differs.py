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
started, and nobody is accused of another graph. Where the tasks compare themselves and train on, in
spite of other ops, another batch size or one shard read by two, this is a warning or a note: a
chief may do more than the others, and a large host take larger batches.
"""

from collections.abc import Iterator, Sequence

from holdfast.model.cluster import TaskId
from holdfast.model.evidence import Evidence
from holdfast.model.findings import Cause, Confidence, Proof, Severity
from holdfast.model.pattern import Pattern
from holdfast.model.remedies import AskHuman
from holdfast.model.told_differences import (
    borne_differences,
    difference_text,
    is_of_variables,
    odd_one,
    told_differences,
)
from holdfast.model.told_facts import DifferenceTold
from holdfast.model.watch_facts import StepsSeen
from holdfast.model.wording import Weight, Words

NOBODY = "the tasks have not built the same"
DO = (
    "compare [v.name for v in tf.compat.v1.global_variables()] of this task and of the chief",
    "start all tasks from the same code and with the same flags",
)
READ_S = 3.0  # a line may have been written so long before it was read
WAITS = Pattern(
    r"Waiting for model to be ready.*Variables not initialized: (?P<names>[^:]+?)(?:, ready: |$)"
)
# Without a name of its own, TensorFlow calls a step that is counted by hand so.
CHIEF_IS_LATE = Pattern(r"not initialized: (?:[^:]*, )?(?:global_step\b|Variable(?:,|$))")
SAME = DO[-1]


def detect(evidence: Evidence) -> Iterator[Proof]:
    yield from _compared(evidence)
    yield from _waiting(evidence)


def _compared(evidence: Evidence) -> Iterator[Proof]:
    """What tasks found when they compared themselves, but for the variables that all have."""
    found = told_differences(evidence)
    told = [fact for fact in found if not is_of_variables(fact)]
    if not found:
        yield from _borne(evidence)
    if not told or len(told) < len(found):
        return  # with other variables, all else is different too
    odd = odd_one(evidence, told)
    yield Proof(
        facts=tuple(told),
        culprit=odd,
        says=f"{_who(odd)}: {difference_text(told[0])}{_more(told)}",
        do=(f"compare the program, the flags and the input of {odd or 'all tasks'}", SAME),
    )


def _borne(evidence: Evidence) -> Iterator[Proof]:
    """All train, and perhaps not the same. That one has larger batches may well be meant."""
    told = sorted(borne_differences(evidence), key=_is_batch)
    if not told:
        return
    only_batches = _is_batch(told[0])
    of_graph = [fact for fact in told if fact.about == "graph"]
    odd = odd_one(evidence, of_graph)
    yield Proof(
        facts=tuple(told),
        culprit=odd,
        confidence=Confidence.HIGH,
        severity=Severity.INFO if only_batches else Severity.WARNING,
        says=f"{_who(odd)}, though all train on: {difference_text(told[0])}{_more(told)}",
        do=(f"compare the program, the flags and the input of {odd or 'all tasks'}", SAME),
    )


def _waiting(evidence: Evidence) -> Iterator[Proof]:
    """Who waits for variables of a chief that has made all of its own: another trains with them."""
    trained = [one for one in evidence.of(StepsSeen) if one.step > 0 and one.task]
    if not trained:
        return
    first = min(trained, key=lambda one: one.at_s)
    lines = [one for one in evidence.lines(WAITS) if one.at_s - first.at_s >= READ_S]
    last = {one.task: one for one in lines if not CHIEF_IS_LATE.search(one.text)}
    for task, line in last.items():
        names = WAITS.search(line.text)
        if task and names and task not in {one.task for one in trained}:
            yield Proof(
                facts=(line, first),
                culprit=task,
                confidence=Confidence.HIGH,
                says=f"{task} waits for variables that the chief does not have:"
                f" {names.group('names')}; {first.task} trains",
                do=DO,
            )


def _is_batch(fact: DifferenceTold) -> bool:
    return fact.name.startswith("batch size")


def _who(odd: TaskId | None) -> str:
    return f"{odd} has not built the same as the others" if odd else NOBODY


def _more(told: Sequence[DifferenceTold]) -> str:
    return f", and {len(told) - 1} more" if len(told) > 1 else ""


cause = Cause(
    family="graph-mismatch",
    detect=detect,
    hears=(WAITS,),
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
            WAITS,
            unless=CHIEF_IS_LATE,
            last=True,
            says="{who} waits for variables that the chief does not have: {names}",
        ),
    ),
    do=DO,
)

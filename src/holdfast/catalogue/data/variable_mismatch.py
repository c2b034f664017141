"""A variable on a parameter server is not the same in all tasks: another shape, another type.

## What you see
`Assign requires shapes of both tensors to match`, `var and delta do not have the same shape`,
`Output 0 of type double_ref does not match declared output type float_ref` or `Trying to read
variable with wrong dtype` in the log of one task, said to come from the parameter server.

## Why it happens
The variable lives once, on a parameter server, and every worker declares it in its own graph. One
of them has another version of the program, other flags or other input shapes. Whoever touches the
variable after the other has declared it dies, and that may be the healthy one.

Where the tasks compare what they have built (`holdfast.tf.agree`, or its callback and hook), they
end before the first step, and say which variable it is and who is the odd one.

## How to confirm it by hand
Print the name, shape and dtype of every variable in each worker, and compare.

## What to do
Give all tasks the same program and flags; remove checkpoints of another model.

## When this accusation would be wrong
That two declarations differ is certain. Which of them is the wrong one is not to be seen in any
log, so that nobody is accused; where tasks have compared themselves, it is the one that differs
from most. An old checkpoint of another model gives the same errors.
"""

from collections.abc import Iterator

from holdfast.model.cluster import TaskId
from holdfast.model.evidence import Evidence
from holdfast.model.facts import LogLine, TracebackSeen
from holdfast.model.findings import Cause, Confidence, Proof
from holdfast.model.pattern import Pattern
from holdfast.model.remedies import AskHuman
from holdfast.model.told_differences import (
    difference_text,
    is_of_variables,
    odd_one,
    told_differences,
)
from holdfast.model.watch_facts import StepsSeen
from holdfast.model.wording import Words
from holdfast.model.words import listed

DIFFERS = Pattern(
    r"Assign requires shapes of both tensors to match\. lhs shape= ?(\[[\d,]*\])"
    r" rhs shape= ?(\[[\d,]*\])"
    r"|var and delta do not have the same shape ?(\[[\d,]*\]) ?(\[[\d,]*\])"
    r"|Output \d+ of type (\w+?)(?:_ref)? does not match declared output type (\w+?)(?:_ref)? for"
    r"|Trying to read variable with wrong dtype\. Expected (\w+) got (\w+)"
    r"|Cannot update variable with shape (\[[\d,]*\]) using a Tensor with shape (\[[\d,]*\])"
    r"|DType of variable handle and value does not match"
)
# A value whose shape is known only while it runs may be wrong in one task alone.
UPDATED = Pattern(r"Cannot update variable with shape ")
SHAPES = Pattern(
    r"Assign requires shapes of both tensors to match"
    r"|var and (?:delta|grad) do not have the same shape"
)
RESTORED = Pattern(r"[Nn]ode:? save(?:_\d+)?/|Restoring from checkpoint failed")
SAYS = "a variable is not the same in all tasks, or in the checkpoint: {line}"
# The name of an op that nobody has named says nothing of its variable.
UNNAMED = Pattern(r"^(?:Assign|AssignAdd|AssignSub|Read)VariableOp(?:_\d+)?$")
MADE_AT = Pattern(r"\(defined at ([^)\n]+)\)")
NODE = Pattern(r"\{\{node ([\w./-]+?)(?:/(?:Assign|read|Read|ApplyGradientDescent)\w*)?\}\}")


def detect(evidence: Evidence) -> Iterator[Proof]:
    yield from _told(evidence)
    for failure in evidence.failures():
        said = _said(evidence, failure.task)
        if said is None or not any(task.role == "ps" for task in evidence.tasks):
            continue
        fact, differ = said
        declares = [task for task in evidence.tasks if task.trains]
        updated = UPDATED.search(_text(fact)) is not None
        if updated and len(declares) == 1:
            continue
        # Who has updated it before has declared it well.
        alone = updated and any(evidence.of(StepsSeen, failure.task))
        yield Proof(
            facts=(fact, failure),
            culprit=None,
            seen_at=failure.task,
            confidence=Confidence.LIKELY if alone else Confidence.HIGH,
            says=f"{_variable(evidence, fact)} is not the same in all tasks: "
            + (
                f"{differ[0]} for one of {listed(declares)}, {differ[1]} for another"
                if differ
                else f"one of {listed(declares)} has another type for it"
            )
            + f"; {failure.task} failed over it",
            do=(
                f"compare name, shape and dtype of every variable in {listed(declares)}",
                "give all of them the same program and flags, and no checkpoint of another model",
            ),
        )


def _told(evidence: Evidence) -> Iterator[Proof]:
    told = [fact for fact in told_differences(evidence) if is_of_variables(fact)]
    if not told:
        return
    odd = odd_one(evidence, told)
    who = f"{odd} has not built the same variables as the others" if odd else ""
    who = who or "the tasks have not built the same variables"
    more = f", and {len(told) - 1} more" if len(told) > 1 else ""
    yield Proof(
        facts=tuple(told),
        culprit=odd,
        says=f"{who}: {difference_text(told[0])}{more}",
        do=(
            f"compare the program, the flags and the input of {odd or 'all tasks'} with the others",
            "give all of them the same program and flags, and no checkpoint of another model",
        ),
    )


def _said(
    evidence: Evidence, task: TaskId | None
) -> tuple[LogLine | TracebackSeen, tuple[str, ...]] | None:
    """The task's own words about it, and the two that do not fit, where they are told."""
    words: list[tuple[str, LogLine | TracebackSeen]] = [
        (line.text, line) for line in evidence.of(LogLine) if line.task == task
    ]
    words += [(seen.message, seen) for seen in evidence.of(TracebackSeen) if seen.task == task]
    last = evidence.last_traceback(task)  # the program wrote it down, whatever its output became
    words += [(last.message, last)] if last else []
    for text, fact in words:
        found = DIFFERS.search(text)
        if found:
            return fact, tuple(part for part in found.groups() if part)
    return None


def _text(fact: LogLine | TracebackSeen) -> str:
    return fact.text if isinstance(fact, LogLine) else fact.message


def _variable(evidence: Evidence, fact: LogLine | TracebackSeen) -> str:
    texts = [_text(fact)]
    texts += [line.text for line in evidence.of(LogLine) if line.task == fact.task]
    texts += [seen.message for seen in evidence.of(TracebackSeen) if seen.task == fact.task]
    found = next((match for text in texts if (match := NODE.search(text))), None)
    if found and not UNNAMED.search(found.group(1)):
        return f"the variable {found.group(1)}"
    made = next((match for text in texts if (match := MADE_AT.search(text))), None)
    return f"the variable of the op that was made at {made.group(1)}" if made else "a variable"


cause = Cause(
    family="shape-mismatch",
    detect=detect,
    hears=(DIFFERS,),
    words=(Words(SHAPES, says=SAYS, unless=RESTORED, blames_nobody=True),),
    do=(
        "compare name, shape and dtype of every variable in all tasks, and in the checkpoint",
        "give all of them the same program and flags, and no checkpoint of another model",
    ),
    remedy=AskHuman(),
    yields_to=frozenset({"checkpoint-of-other-model"}),
)

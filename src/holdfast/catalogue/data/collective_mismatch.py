"""The tasks do not submit the same collectives: another shape, another type, another order.

## What you see
`Shape mismatch in the collective instance 100` or `Collective instance 103 expected type 1 and
data_type 1 but got type 0 and data_type 9` in one log; the others say only that tasks have
crashed, seconds later. Who speaks first is who arrived second, not who is wrong. With gloo all
wait until `Timed out waiting 1800000ms for recv operation to complete`, one of them at another
line of the program than the rest.

## Why it happens
Every task of a MultiWorkerMirroredStrategy must create the same variables and run the same
collectives in the same order. One of them has another version of the program, other flags, other
input shapes, or does something only `if task_index == 0`.

## How to confirm it by hand
Print `[(v.name, v.shape, v.dtype) for v in model.variables]` in every task before the first step,
and compare.

## What to do
Give all tasks the same program, flags and input shapes; take conditions on the task's index away
from variables, metrics and reductions.

## When this accusation would be wrong
That the tasks differ is certain. Who is the odd one out is a vote: the task whose program stands
elsewhere than all the others, or whose shape or type nobody shares. Of two tasks nobody can say
which is right, nor of more when the first to notice was the leader: that ends all of them before
they have said what they have. Then nobody is accused.
"""

from collections.abc import Iterator, Mapping

from holdfast.model.cluster import TaskId
from holdfast.model.evidence import Evidence
from holdfast.model.facts import LogLine, TracebackSeen
from holdfast.model.findings import Cause, Confidence, Proof
from holdfast.model.lost_peer import BETWEEN_TASKS
from holdfast.model.odd_place import VOTERS_MIN, place_in_program, stands_elsewhere
from holdfast.model.pattern import Pattern
from holdfast.model.remedies import AskHuman
from holdfast.model.watch_facts import StepsSeen
from holdfast.model.wording import Words
from holdfast.model.words import listed

SHAPE = Pattern(
    r"Shape mismatch in the collective instance \d+\. Op at device \S+"
    r" expected shape (\[[^\]]*\]) but another member in the group expected shape (\[[^\]]*\])"
)
KIND = Pattern(
    r"Collective instance \d+ expected type (\d+) and data_type (\d+)"
    r" but got type (\d+) and data_type (\d+)"
)
FIRST_HAND = Pattern(
    r"BaseCollectiveExecutor::StartAbort \w+: (?:Shape mismatch|Collective instance)"
)
TYPES = {"1": "float32", "2": "float64", "3": "int32", "9": "int64", "10": "bool", "19": "float16"}
# gloo, when nobody sent what a task waited for.
IN_VAIN = Pattern(r"[Tt]imed out waiting \d+ ?ms for (?:recv|send) operation")
OPS = {"0": "reduce", "1": "broadcast", "2": "gather", "3": "permute", "4": "all-to-all"}


def detect(evidence: Evidence) -> Iterator[Proof]:
    said = [line for pattern in (SHAPE, KIND) for line in evidence.lines(pattern) if line.task]
    heard = [line for line in said if FIRST_HAND.search(line.text)]
    first = {line.task: line for line in reversed(heard)}
    tracebacks = {task: seen for task in evidence.tasks if (seen := evidence.last_traceback(task))}
    if not said:
        yield from _apart(evidence, tracebacks)
        return
    members = [task for task in evidence.tasks if task.trains]
    spread = {line.task for line in said} - first.keys()  # ended by it, before they could say
    odd = stands_elsewhere(tracebacks) or (None if spread else _says_alone(first, members))
    line = first.get(odd) or next(iter(heard), said[0])
    ended = evidence.failure_of(odd) if odd else None
    yield Proof(
        facts=(line, ended) if ended else (line,),
        culprit=odd,
        seen_at=line.task if line.task != odd else None,
        confidence=Confidence.HIGH,
        says=_sentence(odd, line, members),
        do=(
            f"compare the variables and input shapes of {listed(members)}",
            "give all tasks the same program and flags, without conditions on the task's index",
        ),
    )


def _apart(evidence: Evidence, ended: Mapping[TaskId, TracebackSeen]) -> Iterator[Proof]:
    """All waited for one another until one gave up, and one at another line than the rest."""
    among = all(BETWEEN_TASKS.search(seen.message) for seen in ended.values())
    gave_up = any(IN_VAIN.search(seen.message) for seen in ended.values())
    odd = stands_elsewhere(ended) if among and gave_up else None
    if odd is None:
        return
    others = [task for task in ended if task != odd]
    yield Proof(
        facts=(ended[odd], *(ended[task] for task in others)),
        culprit=odd,
        confidence=Confidence.HIGH,
        says=f"{odd} does not run the same collectives as the others: it was at"
        f" {_at(evidence, ended[odd])}, {listed(others)} at {_at(evidence, ended[others[0]])}",
        do=(
            f"see why {odd} came there: its input may have fewer batches than the others' have",
            "give all tasks equally many steps, without conditions on the task's index",
        ),
    )


def _at(evidence: Evidence, seen: TracebackSeen) -> str:
    step = max(evidence.of(StepsSeen, seen.task), key=lambda fact: fact.at_s, default=None)
    after = f" after step {step.step}" if step else ""
    return f"{place_in_program(seen)}{after}"


def _says_alone(first: Mapping[TaskId | None, LogLine], members: list[TaskId]) -> TaskId | None:
    """One against all: alone in saying so, or alone in having what all the others object to."""
    if len(members) < VOTERS_MIN:
        return None
    speakers = [task for task in members if task in first]
    silent = [task for task in members if task not in first]
    if len(speakers) == 1:
        return speakers[0]
    return silent[0] if len(silent) == 1 else None


def _sentence(odd: TaskId | None, line: LogLine, members: list[TaskId]) -> str:
    who = f"{odd} does not run the same collectives as the others" if odd else ""
    who = who or f"{listed(members)} do not run the same collectives"
    return f"{who}: {_difference(line)}"


def _difference(line: LogLine) -> str:
    shapes = SHAPE.search(line.text)
    if shapes:
        own, others = shapes.group(1), shapes.group(2)
        return f"a tensor of {line.task} has the shape {own}, the same of another task {others}"
    kinds = KIND.search(line.text)
    assert kinds is not None  # one of the two found the line
    op, dtype, own_op, own_dtype = kinds.groups()
    own = f"{OPS.get(own_op, f'type {own_op}')} of {TYPES.get(own_dtype, f'type {own_dtype}')}"
    others = f"{OPS.get(op, f'type {op}')} of {TYPES.get(dtype, f'type {dtype}')}"
    return f"{line.task} came with a {own} where another task had a {others}"


WORDS = (
    Words(
        Pattern(
            r"Shape mismatch in the collective instance \d+\. Op at device"
            r" (?P<culprit>/job:[a-z_]+/(?:replica:\d+/)?task:\d+)"
        ),
        of_speaker=True,
        says="{who} has another shape than others of its group: {line}",
    ),
    Words(SHAPE, blames_nobody=True, says="tasks disagree about a collective operation: {line}"),
    Words(KIND, blames_nobody=True, says="tasks disagree about a collective operation: {line}"),
    Words(
        Pattern(
            r"Detected mismatch between collectives on ranks\. Rank \d+ is running[^\n]*"
            r"but (?P<culprit>Rank \d+) is running"
        ),
        says="{culprit} runs another collective operation than the rest: {line}",
    ),
    Words(
        Pattern(r"Mismatched collective detected[^\n]*around (?P<culprit>rank \d+)"),
        says="{culprit} or a neighbour calls another collective operation than the rest: {line}",
    ),
    Words(
        Pattern(r"Aborting Ring\w+ with \w+: Inconsistent output shapes, got"),
        blames_nobody=True,
        says="tasks disagree about the shape of a collective operation: {line}",
    ),
    Words(
        Pattern(
            r"(?:is assigned to device|Device) (?P<culprit>\S+) (?:with type \w+ )?"
            r"(?:and group_key \d+ but that group|is joining a group (?:with|that is already full))"
        ),
        says="{culprit} is not in the group that its peers have: {line}",
    ),
    Words(
        Pattern(
            r"has group_size \d+ and group_key ?\d+ but that group has size"
            r"|op\.preamble\.length <= op\.nbytes|MPI_ERR_TRUNCATE: message truncated"
            r"|[Mm]essage truncated ?: received? \d+ bytes instead of|mismatch in collective sizes"
        ),
        says="{who} sends another size or number of tensors than its peers: {line}",
    ),
    Words(
        Pattern(
            r"Mismatched (?:ALLREDUCE|ALLGATHER|BROADCAST|REDUCESCATTER|ALLTOALL|ADASUM|JOIN"
            r"|collective operations|data types|\w+ tensor (?:shapes|ranks)|\w+ root ranks"
            r"|\w+ CPU/GPU device)|One rank (?:did|had|specified|sent) .*but another"
            r"|Detected mismatch between collectives on ranks"
            r"|Mismatched MPI operations|NCCL WARN \w+ : (?:invalid (?:count|root)|mismatch)"
            r"|[Cc]ollective ops with the same instance key|call(?:ed|ing) collectives? in (?:a )?"
            r"different order|collectives? (?:call )?order mismatch|[Mm]ismatched collectives?\b"
        ),
        says="{who} asks for another collective operation than its peers: {line}",
    ),
)

cause = Cause(
    family="collective-order-mismatch",
    detect=detect,
    hears=(SHAPE, KIND),
    remedy=AskHuman(),
    words=WORDS,
    do=(
        "log the order of collective operations in every task, and compare",
        "let all tasks take the same branches: no collective under a condition that differs",
    ),
)

"""All tasks of a session program wait for a chief, and none of them is one.

## What you see
Every worker says once `Waiting for model to be ready` or nothing at all, looks again after half a
minute, and so for ever. All servers answer.

## Why it happens
A session waits until the chief has initialized the variables. The program calls itself chief only
where its role is `chief` or its index another than any task has, and no task of this cluster is
that: `MonitoredTrainingSession(is_chief=...)` is False in all of them.

## How to confirm it by hand
`py-spy dump --nonblocking --pid PID` of each task shows `wait_for_session` in `session_manager.py`.
Print what the program gives as `is_chief`, in each of them.

## What to do
Make exactly one task the chief. Where the cluster has no `chief`, that is worker:0:
`is_chief = role == "chief" or ("chief" not in cluster and index == 0)`; or add a chief
(`holdfast run --chief`).

## When this accusation would be wrong
When somebody outside of this cluster initializes the variables later. It is said only while all who
train are seen to wait in that call: a chief that is late, slow or starved of a core is not in it.
Before the deadline of the start it is a notice, then a warning.
"""

from collections.abc import Iterator

from holdfast.model.cluster import TaskId
from holdfast.model.evidence import CHIEF, Evidence
from holdfast.model.findings import HUNG_CODE, Cause, Confidence, Proof
from holdfast.model.remedies import AskHuman
from holdfast.model.start_calls import StartCall, how_loud_at_start, standing_at_start
from holdfast.model.words import listed, wait

LASTING_S = 10.0
FIRST = TaskId("worker", 0)


def detect(evidence: Evidence) -> Iterator[Proof]:
    stand = {
        one.task: one for one in standing_at_start(evidence) if one.call is StartCall.AWAITS_CHIEF
    }
    trainers = {task for task in evidence.tasks if task.trains}
    lasting = all(one.lasts_s >= LASTING_S for one in stand.values())
    if not stand or stand.keys() != trainers or not lasting:
        return
    first = next(iter(stand.values()))
    chief = CHIEF if CHIEF in stand else None
    where = f"; the definition has {chief}, which waits, too" if chief else ""
    yield Proof(
        facts=tuple(one.look for one in stand.values()),
        culprit=chief,
        place="" if chief else first.own_line,
        confidence=Confidence.HIGH,
        severity=how_loud_at_start(evidence, first),
        says=f"{listed(stand)} {wait(len(stand))} {first.where} for a chief to initialize the"
        f" variables, and none of them is the chief: is_chief is False in all{where}",
        do=(
            f"make one of them the chief: is_chief=True in {chief or FIRST}, and only there",
            *(() if chief else ("or add a chief to the cluster: holdfast run --chief",)),
        ),
        exit_code=HUNG_CODE,
    )


cause = Cause(
    family="startup-waiting-for-worker",
    detect=detect,
    remedy=AskHuman(),
    live=True,
)

"""A MultiWorkerMirroredStrategy was created in a cluster that has parameter servers.

## What you see
Nothing. The servers of all tasks answer, every worker stands inside of
`MultiWorkerMirroredStrategy()`, and no log says for whom.

## Why it happens
This strategy has no parameter servers: all of its tasks train. Where the cluster has a `ps` all the
same, TensorFlow takes ps:0 for the leader at which the workers register. ps:0 runs a plain
`tf.distribute.Server`, which knows nothing of that, and nobody else ever answers them.

## How to confirm it by hand
`py-spy dump --nonblocking --pid PID` of a worker shows `ensure_initialized` at
`TFE_EnableCollectiveOps`; TF_CONFIG of the worker has a `ps`.

## What to do
Take `ps` out of the cluster (`holdfast run --workers N` without `--ps`). Or keep the parameter
servers, and train with `ParameterServerStrategy` and a chief.

## When this accusation would be wrong
When the program sets up the coordination service itself, with another leader: then the call returns
as soon as all workers have come. It is said only while all who train are seen to wait in that call
and all servers answer: one that is starved of a core, or late, has not answered or is elsewhere.
Before the deadline of the start it is a notice, then a warning.
"""

from collections.abc import Iterator

from holdfast.model.cluster import TaskId
from holdfast.model.evidence import Evidence
from holdfast.model.findings import HUNG_CODE, Cause, Confidence, Proof
from holdfast.model.remedies import AskHuman
from holdfast.model.standing import standings
from holdfast.model.start_calls import StartCall, how_loud_at_start, standing_at_start
from holdfast.model.words import listed, wait

LASTING_S = 10.0  # all of them, and all answer: those who come get on at once


def detect(evidence: Evidence) -> Iterator[Proof]:
    stand = {one.task: one for one in standing_at_start(evidence) if one.call is StartCall.JOINS}
    servers = [task for task in evidence.tasks if task.role == "ps"]
    trainers = [task for task in evidence.tasks if task.trains]
    if not servers or not stand or stand.keys() != set(trainers):
        return
    at = standings(evidence)
    lasting = all(one.lasts_s >= LASTING_S for one in stand.values())
    if not lasting or not all(task in at and at[task].is_ready for task in evidence.tasks):
        return
    leader, first = TaskId("ps", 0), next(iter(stand.values()))
    yield Proof(
        facts=(at[leader].look, *(one.look for one in stand.values())),
        culprit=leader,
        confidence=Confidence.HIGH,
        severity=how_loud_at_start(evidence, first),
        says=f"{listed(stand)} {wait(len(stand))} {first.where} for {leader} to let them in:"
        " with a ps in its cluster, a MultiWorkerMirroredStrategy cannot start",
        do=(
            f"take {listed(servers)} out of the cluster: this strategy has no parameter servers",
            "or keep them, and train with ParameterServerStrategy and a chief",
        ),
        exit_code=HUNG_CODE,
    )


cause = Cause(
    family="cluster-spec-mismatch",
    detect=detect,
    remedy=AskHuman(),
    live=True,
)

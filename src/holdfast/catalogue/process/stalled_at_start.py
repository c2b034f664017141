"""A task accepts connections and never answers: it is stopped, or hangs.

## What you see
The job stands still. The task's port is open: `nc` connects, a load balancer calls it healthy.
TensorFlow's other tasks wait for its answer without a word.

## Why it happens
The kernel accepts connections for a process that does not run: stopped by SIGSTOP or Ctrl-Z,
held by a debugger, frozen by a container (`docker pause`), stuck on storage, or with every
thread of its server in a deadlock.

## How to confirm it by hand
`grep State /proc/PID/status` on its host: `T` is stopped, `t` traced, `D` waits for storage.
`ss -tn` shows bytes in Recv-Q that nobody takes.

## What to do
Stopped: `kill -CONT PID`. Traced: detach the debugger. Else look at its stacks.

## When this accusation would be wrong
A ParameterServerStrategy chief that connects to its cluster behaves the same while it waits
for others; it is accused only when everybody else answers. A host so loaded that a process
gets no core for seconds looks the same, too: then the finding says `likely`.
"""

from collections.abc import Iterator

from holdfast.model.cluster import TaskId
from holdfast.model.evidence import Evidence
from holdfast.model.facts import Fact, ProcessSeen
from holdfast.model.findings import HUNG_CODE, Cause, Confidence, Proof
from holdfast.model.path import Outcome
from holdfast.model.remedies import AskHuman
from holdfast.model.standing import Standing, missing

STOPPED = {
    "T": ("is stopped (SIGSTOP or Ctrl-Z)", "let it go on: kill -CONT {pid}"),
    "t": ("is held by a debugger", "detach the debugger from pid {pid}"),
    "D": ("waits for storage and cannot even be killed", "look at its disks: dmesg | tail"),
}


def detect(evidence: Evidence) -> Iterator[Proof]:
    for task, standing in missing(evidence).items():
        seen = _last_seen(evidence, task)
        is_held = seen is not None and seen.state in STOPPED
        if seen and is_held and standing.look.outcome in {Outcome.STALLED, Outcome.REFUSED}:
            what, do = STOPPED[seen.state]
            yield Proof(
                facts=(standing.look, seen),
                culprit=task,
                says=f"{task} {what}: pid {seen.pid} does nothing, {_words(standing)}",
                do=(do.format(pid=seen.pid),),
                exit_code=HUNG_CODE,
            )
        elif standing.look.outcome == Outcome.STALLED:
            yield _silent(standing, seen)


def _words(standing: Standing) -> str:
    if standing.look.outcome == Outcome.REFUSED:
        return f"and nobody listens at {standing.look.address}"
    return f"and its port at {standing.look.address} is open all the same"


def _silent(standing: Standing, seen: ProcessSeen | None) -> Proof:
    task, look = standing.task, standing.look
    facts: tuple[Fact, ...] = (look, seen) if seen else (look,)
    again = look.at_s > standing.since_s and task.role != "chief"
    or_else = "" if task.role != "chief" else ", or it cannot reach one of its cluster"
    pid = str(seen.pid) if seen else "PID"
    return Proof(
        facts=facts,
        culprit=task,
        confidence=Confidence.HIGH if again else Confidence.LIKELY,
        says=f"{task} accepts connections at {look.address} and does not answer:"
        f" it is stopped, or hangs{or_else}",
        do=(
            f"on its host: grep State /proc/{pid}/status; T is stopped: kill -CONT {pid}",
            f"see what it does: py-spy dump --nonblocking --pid {pid}",
        ),
        exit_code=HUNG_CODE,
    )


def _last_seen(evidence: Evidence, task: TaskId) -> ProcessSeen | None:
    return max(evidence.of(ProcessSeen, task), key=lambda seen: seen.at_s, default=None)


cause = Cause(
    family="task-stalled",
    detect=detect,
    remedy=AskHuman(),
    yields_to=frozenset({"proxy-hijack"}),
)

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
for others; it is accused only when everybody else answers. A process that is starved of a core
for seconds looks the same, too: in a run such time does not count, nor does time in which our own
looks came late. From outside it is a warning if its process is seen to run, and no more than
`likely` if nobody can see its process.

What it knows more than `keeps-waiting`: that its server answers nobody. Without a step and a look
at its stacks, that is all there is.
"""

from collections.abc import Iterator

from holdfast.model.cluster import TaskId
from holdfast.model.evidence import Evidence
from holdfast.model.facts import AttemptStarted, Fact, ProcessSeen
from holdfast.model.findings import HUNG_CODE, Cause, Confidence, Proof, Severity
from holdfast.model.path import Outcome
from holdfast.model.remedies import AskHuman
from holdfast.model.standing import Standing, missing
from holdfast.model.waiting import is_working

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
            yield _silent(evidence, standing, seen)


def _words(standing: Standing) -> str:
    if standing.look.outcome == Outcome.REFUSED:
        return f"and nobody listens at {standing.look.address}"
    return f"and its port at {standing.look.address} is open all the same"


def _silent(evidence: Evidence, standing: Standing, seen: ProcessSeen | None) -> Proof:
    task, look = standing.task, standing.look
    facts: tuple[Fact, ...] = (look, seen) if seen else (look,)
    # From outside, nobody can tell one that hangs from one that gets no core, but its process.
    in_sight = seen is not None or any(evidence.of(AttemptStarted))
    again = look.at_s > standing.since_s and task.role != "chief" and in_sight
    wants_core = (seen is not None and seen.state == "R") or is_working(evidence, task)
    or_else = "" if task.role != "chief" else ", or it cannot reach one of its cluster"
    why = f"it is stopped, or hangs{or_else}"
    if wants_core:
        why = "it is busy, or gets too little of a core"
    pid = str(seen.pid) if seen else "PID"
    return Proof(
        facts=facts,
        culprit=task,
        confidence=Confidence.HIGH if again and not wants_core else Confidence.LIKELY,
        severity=Severity.WARNING if wants_core else None,
        says=f"{task} accepts connections at {look.address} and does not answer: {why}",
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
    # A stranger need not answer; nor need a chief that looks for its cluster where nobody is.
    yields_to=frozenset({"proxy-hijack", "port-conflict", "wrong-port"}),
)

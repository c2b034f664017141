"""A task that the others wait for has never opened its port.

## What you see
Nothing. The chief or the workers stand still after their start, mostly without a word. The
leader of a MultiWorkerMirroredStrategy says once `Waiting for 1/3 tasks to connect`, a
TensorFlow 1 session repeats `CreateSession still waiting for response from worker`. A
ParameterServerStrategy chief says nothing at all, and waits for ever.

## Why it happens
The task was not launched, its host is still pulling an image or waiting in a queue, its
launch script stopped before Python, or it died and nobody noticed.

## How to confirm it by hand
`nc -vz HOST PORT` from the host of a task that waits says `refused`; `ss -ltn` on the task's
own host does not show the port; `ps` shows no such process, or one that is not there yet.

## What to do
Start the task, or look into its log: why has it not come to the line that starts its server?
The others will go on as soon as it comes; nothing needs to be restarted.

## When this accusation would be wrong
When the task is only late: it may still come. During a run it is accused at the deadline of the
start-up, or when the job ends before it, not sooner. From outside, a task that has finished its
work and left looks the same, so it is accused only when somebody waits for it. Who wants a core
and gets none is not idle: on a starved host the deadline waits for it, and when a job is ended
before it, only the time in which it had a core counts.

What it knows more than `keeps-waiting`: that the one who is waited for has no server yet, and at
which address it is missed.
"""

from collections.abc import Iterator

from holdfast.model.cluster import TaskId
from holdfast.model.evidence import Evidence
from holdfast.model.facts import Fact, PathProbed, TaskStarted
from holdfast.model.findings import HUNG_CODE, Cause, Confidence, Proof
from holdfast.model.path import Outcome
from holdfast.model.pattern import Pattern
from holdfast.model.remedies import AskHuman
from holdfast.model.standing import Standing, is_ready, missing
from holdfast.model.wait import Wait
from holdfast.model.waiting import HEARD, waits_in
from holdfast.model.wording import Weight, Words
from holdfast.model.words import listed, wait


def detect(evidence: Evidence) -> Iterator[Proof]:
    waits = waits_in(evidence)
    for task, standing in missing(evidence).items():
        waiting = [one for one in waits if one.awaited == task]
        gone = standing.look.outcome != Outcome.REFUSED or evidence.ended_by_itself(task)
        if waiting and not gone and not _came_up(evidence, task):
            yield _proof(evidence, standing, waiting)


def _came_up(evidence: Evidence, task: TaskId) -> bool:
    """It answered at some time, here or elsewhere: so it was started."""
    return any(is_ready(look) for look in evidence.of(PathProbed) if look.target == task)


def _proof(evidence: Evidence, standing: Standing, waiting: list[Wait]) -> Proof:
    task, address = standing.task, standing.look.address
    started = next(evidence.of(TaskStarted, task), None)
    who = f"{listed(one.waiter for one in waiting)} {wait(len(waiting))} for it"
    facts: tuple[Fact, ...] = (standing.look, waiting[0].fact)
    if started is not None:
        return Proof(
            facts=(started, *facts),
            culprit=task,
            confidence=Confidence.HIGH,
            says=f"{task} runs (pid {started.pid}) but has not opened its port: nobody listens"
            f" at {address}, and {who}",
            do=(
                f"read the log of {task}: what does it do before it starts its server?",
                "if it only needs longer, give the start more time: --start-deadline-s 600",
            ),
            exit_code=HUNG_CODE,
        )
    return Proof(
        facts=facts,
        culprit=task,
        confidence=Confidence.LIKELY,
        says=f"nobody listens at {address}, where {task} should be, and {who}:"
        " it was not started, or has ended",
        do=(
            f"start {task}, or read its log: the others go on as soon as it listens at {address}",
            f"on its host: ss -ltnp 'sport = :{address.rpartition(':')[2]}'",
        ),
        exit_code=HUNG_CODE,
    )


WORDS = (
    Words(
        Pattern(
            r"retr(?:ie|ei)ving ncclUniqueId from|Stop_waiting response is expected"
            r"|DistStoreError: (?:Socket Timeout|wait timeout)"
            r"|[Ww]ait timeout[^\n]*torch\.rendezvous"
        ),
        Weight.SIGN,
        blames_nobody=True,
        says="not all ranks came to the start: {line}",
    ),
    Words(
        Pattern(r"CreateSession still waiting for response from worker: (?P<culprit>/job:\S+)"),
        last=True,
        says="{who} has not come up: others wait for it until the end",
    ),
    # The names stand below it; the line before it tells only how many are missing.
    Words(
        Pattern(r"Example stragglers:(?:\s*(?P<culprit>/job:\S+))?"),
        last=True,
        says="{who} has not come up: the leader of the cluster waits for it until the end",
    ),
    Words(
        Pattern(
            r"Barrier timed out(?:(?s:.*?)task names:\s*"
            r"(?P<culprit>/job:[a-z][a-z0-9_-]*/(?:replica:\d+/)?task:\d+))?"
        ),
        unless=Pattern(r"[Ss]hutdown|PREEMPTION_SYNC"),
        says="{who} did not come to the start of the cluster: {line}",
    ),
    Words(
        Pattern(r"(?P<culprit>/job:[a-z]\S*/task:\d+) seems down, retrying \d+/\d+"),
        Weight.SYMPTOM,
        last=True,
        says="{who} does not answer: others try again and again",
    ),
    Words(
        Pattern(r"waiting for .initialize clique for rank \d+"),
        Weight.SYMPTOM,
        last=True,
        blames_nobody=True,
        says="not all members came to the first collective operation: {line}",
    ),
    Words(
        Pattern(r"check_time_out_for\('(?:tasks|hosts) to"),
        Weight.SYMPTOM,
        blames_nobody=True,
        says="not all tasks came to the start: {line}",
    ),
    # PyTorch says it every ten seconds, and once in every start.
    Words(
        Pattern(r"Waiting in store based barrier to initialize process group"),
        Weight.SIGN,
        last=True,
        often=2,
        blames_nobody=True,
        says="not all ranks came to the start: {line}",
    ),
    Words(
        Pattern(
            r"(?i)Timeout waiting for (?:tasks|hosts|workers) to start"
            r"|timed out waiting for (?:all )?(?:tasks|hosts|workers|peers|nodes|members) to"
            r"|Barrier '?\S+ timed out waiting for tasks|timed out waiting for min(?:imum)? nodes"
            r"|rendezvous (?:has )?timed out"
            r"|waiting for all (?:\d+ )?(?:workers|nodes|hosts|ranks|peers)"
            r" to (?:join|register|connect|start)[^\n]{0,80}time(?:d )?-?out"
        ),
        Weight.SIGN,
        blames_nobody=True,
        says="not all tasks came to the start: {line}",
    ),
    Words(
        Pattern(
            r"Waiting for [1-9]\d* reservations"
            r"|is connected to 0 peer ranks\. Expected number[^:]*: [1-9]"
            r"|(?i:waiting for (?:\d+ (?:more )?)?(?:worker|peer|node|host|rank|member)s?"
            r" to (?:join|register|connect|start|become ready))"
            r"|[1-9]\d* nodes are available: [1-9]\d* Insufficient"
            r"|Only \d+/\d+ (?:workers|nodes|ranks) (?:joined|registered|connected)"
            r"|FailedScheduling.*(?:Insufficient|nodes are available)"
        ),
        Weight.SIGN,
        last=True,
        often=2,
        blames_nobody=True,
        says="some tasks have no place to start in yet: {line}",
    ),
    Words(
        Pattern(r"CoordinationService/RegisterTask"),
        Weight.SIGN,
        blames_named=True,
        says="{who}, which leads the cluster, was not there to register at: {line}",
    ),
    Words(
        Pattern(
            r"Timed out initializing process group in store based barrier"
            r"|waiting for clients?\. \d+/\d+ clients joined|RendezvousTimeoutError"
            r"|Timed out waiting for (?:tasks|hosts|job of Spark tasks|reservations) to"
        ),
        blames_nobody=True,
        says="not all tasks came to the start: {line}",
    ),
    # Every worker says it once, and looks again after half a minute.
    Words(
        Pattern(r"Waiting for model to be ready.*not initialized: "),
        Weight.SYMPTOM,
        last=True,
        often=2,
        says="nobody initializes the model: the chief is not there",
    ),
)

cause = Cause(
    family="startup-waiting-for-worker",
    detect=detect,
    hears=HEARD,
    remedy=AskHuman(),
    yields_to=frozenset(
        {
            *("stalled-at-start", "wrong-port", "proxy-hijack", "spec-bad-address"),
            *("spec-differs", "spec-task-twice", "spec-unreadable", "spec-without-cluster"),
            "spec-wrong-task",
        }
    ),
    words=WORDS,
    do=(
        "see whether the missing task was started, and read its log",
        "the others go on as soon as it listens at its address",
    ),
)

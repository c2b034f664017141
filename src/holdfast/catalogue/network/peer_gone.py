"""A task lost a peer: almost always the aftermath of another task's failure.

## What you see
`Socket closed`, `Connection reset by peer`, `failed to connect to all addresses`, missed
heartbeats, `The tasks have crashed`: errors in the logs of healthy tasks. The headline often
names a wrong one.

## Why it happens
The peer ended first, for a reason of its own. TensorFlow prints the same words for a kill, a
crash, an exception and a clean exit of the peer.

## How to confirm it by hand
Find the innermost `remote target /job:…/task:N` of the earliest message, and look at how that
task ended: its exit code, its own last lines.

## What to do
Look at the peer. This finding stands alone only when the peer left no trace.

## When this accusation would be wrong
When the network between two living tasks broke. At the end of a good run the same words are noise:
a task that exits with 0 is never believed to have lost a peer. It rests on the words of a task
that has failed over it, and is an echo: a starved peer that was given up by TensorFlow's own
heartbeats is told by what is known of that peer.
"""

import math
from collections.abc import Iterator

from holdfast.model.cluster import TaskId
from holdfast.model.evidence import ENDING, Evidence
from holdfast.model.facts import LogLine, SignalSent, StopAsked, TracebackSeen
from holdfast.model.findings import Cause, Confidence, Proof
from holdfast.model.lost_peer import LOST, is_aftermath
from holdfast.model.named_tasks import call_targets, named_tasks
from holdfast.model.pattern import Pattern
from holdfast.model.remedies import Relaunch
from holdfast.model.wording import Weight, Words


def detect(evidence: Evidence) -> Iterator[Proof]:
    if not any(evidence.failures()):
        return
    survivors_s = _survivors_heard_until_s(evidence)
    for task in evidence.tasks:
        exited = evidence.exit_of(task)
        if exited is not None and exited.exit_code == 0:
            continue
        until_s = math.inf if evidence.failure_of(task) else survivors_s
        said: list[LogLine | TracebackSeen] = [
            *evidence.lines(LOST, task),
            *(seen for seen in evidence.of(TracebackSeen, task) if is_aftermath(evidence, seen)),
        ]
        ended = evidence.last_traceback(task)
        if ended is not None and ended not in said and is_aftermath(evidence, ended):
            said.append(ended)  # the program wrote it down, whatever became of its output
        said = [fact for fact in said if fact.at_s <= until_s]
        if said:
            yield _proof(evidence, task, said)


def _survivors_heard_until_s(evidence: Evidence) -> float:
    """Until when the words of those count that did not fail themselves.

    Once we end the job, lost connections are our own doing. In a training that was led to its
    end, they got over what they lost.
    """
    if evidence.chief_finished():
        return -math.inf
    sent = (fact.at_s for fact in evidence.of(SignalSent) if fact.signal in ENDING)
    asked = (fact.at_s for fact in evidence.of(StopAsked))
    return min((*sent, *asked), default=math.inf)


def _proof(evidence: Evidence, task: TaskId, said: list[LogLine | TracebackSeen]) -> Proof:
    peer, telling = _peer(evidence, task, said)
    whom = str(peer) if peer else "a peer it does not name"
    left = evidence.exit_of(peer) if peer else None
    early = ", which had ended with exit code 0" if left and left.exit_code == 0 else ""
    failure = evidence.failure_of(task)
    return Proof(
        facts=(telling, failure) if failure else (telling,),
        culprit=peer,
        seen_at=task,
        confidence=Confidence.LIKELY if peer else Confidence.GUESS,
        says=f"{task} lost {whom}{early}",
        do=(f"look at {whom}: how it ended, and its last lines",),
    )


def _peer(
    evidence: Evidence, task: TaskId, said: list[LogLine | TracebackSeen]
) -> tuple[TaskId | None, LogLine | TracebackSeen]:
    """Whom the task misses: of those it names, who left first; else whom its call did not reach."""
    others = set(evidence.tasks) - {task}
    named = [(peer, fact) for fact in said for peer in named_tasks(fact) if peer in others]
    left = [
        (exited.at_s, str(peer), peer, fact)
        for peer, fact in named
        if (exited := evidence.exit_of(peer)) and not evidence.ended_by_us(exited)
    ]
    if left:
        _, _, peer, fact = min(left, key=lambda found: found[:2])
        return peer, fact
    called = [(peer, fact) for peer, fact in named if peer in call_targets(fact)]
    return next(iter((*called, *named)), (None, said[0]))


WORDS = (
    Words(LOST, Weight.SYMPTOM, says="{who} was lost: {line}"),
    # gloo tells the address of the one that left.
    Words(
        Pattern(
            r"(?:[Cc]onnection closed by peer|Read error|Write error|Connection reset by peer) "
            r"\[(?P<culprit>[0-9a-fA-F.:]+)\]:\d+"
        ),
        Weight.SYMPTOM,
        says="{who} was lost: {line}",
    ),
    Words(
        Pattern(
            r"Unavailable: (?:OS Error|Endpoint read failed|EOF\b)"
            r"|UNAVAILABLE: (?:recvmsg|sendmsg)|Horovod has been shut down"
            r"|HorovodInternalError|remote process exited or there was a network error"
            r"|[Cc]onnection closed by (?:remote )?peer|peer closed connection|Broken pipe"
            r"|Read error \[|Socket closed|ncclRemoteError|Connection reset by peer"
            r"|[Aa]ctor died unexpectedly|[Ww]orker died unexpectedly|WorkerCrashedError"
            r"|KilledWorker"
            r"|UnavailableError: (?:OS Error|Endpoint|EOF)|ECONNRESET|\bEPIPE\b|ECONNABORTED"
            r"|MPI_ERR_PROC_FAILED|Software caused connection abort"
            r"|ConnectionAbortedError|Connection aborted\.|GOAWAY received"
            r"|[Cc]onnection reset by peer"
            r"|Detected a worker failure|worker failure was detected"
            r"|Worker \S*task:\d+ was restarted"
            r"|BrokenProcessPool|process managed by the executor was unexpectedly terminated"
            r"|Worker \(pid \d+\) exited (?:prematurely|unexpectedly)"
            r"|an exception on one of the ranks|peer process has unexpectedly disconnected"
            r'|"description":"(?:EOF|Endpoint read failed|Socket closed|OS Error)"'
        ),
        Weight.SYMPTOM,
        unless=Pattern(r"https?://|s3\.|storage\.googleapis"),
        says="{who} was lost: {line}",
    ),
)

cause = Cause(
    family="peer-restarted",
    detect=detect,
    hears=(LOST,),
    remedy=Relaunch(),
    echo=True,
    yields_to=frozenset({"restarted", "step-timed-out"}),
    words=WORDS,
    where=(Pattern(r"^\s+Peer host: +(?P<culprit>[\w.-]+)"),),
    do=(
        "look at how the lost task ended: its exit code, and its last lines",
        "search its host's log for a kill: dmesg -T | grep -i kill",
    ),
)

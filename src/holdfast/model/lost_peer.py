"""What a task says and throws when a peer of its cluster is gone."""

from dataclasses import replace

from holdfast.model.evidence import Evidence
from holdfast.model.facts import TracebackSeen
from holdfast.model.frameworks import is_of_framework
from holdfast.model.origin import chains_of, quoted_by
from holdfast.model.pattern import Pattern
from holdfast.model.told_facts import ExceptionLeft

AFTER_S = 120.0  # so long after a peer was gone its loss is felt: time-outs are minutes
LEAVING_S = 15.0  # who is leaving closes its connections first, and takes long to be gone
# Nobody but the transport between the tasks says this, whoever raises it: gloo, NCCL, torch's
# store, MPI, Horovod, and the coordination service of JAX.
BETWEEN_TASKS = Pattern(
    r"gloo/transport/\S+\] (?:[Cc]onnection|Read error|Write error|Timed out waiting)"
    r"|Gloo \w+ failed: |[Cc]onnection closed by (?:remote )?peer \[?[\w.:]+\]?[:<]"
    r"|[Tt]imed out waiting \d+ ?ms for (?:recv|send) operation"
    r"|ncclRemoteError|remote process exited or there was a network error"
    r"|Did the remote server shutdown or crash|(?:recvValue|sendBytes|recvBytes) failed on Socket"
    r"|MPI_ERR_PROC_FAILED|MPI_ERR_REVOKED|[OP]RTE has lost communication with a remote daemon"
    r"|Horovod has been shut down|HorovodInternalError"
    r"|JAX distributed service detected fatal errors|Polled an error from coordination service"
    r"|Shutdown barrier (?:in coordination service )?has failed"
    r"|/(?:xla\.coordination|tensorflow)\.CoordinationService/(?:PollForError|Heartbeat)"
)
# These may as well be about a server of somebody else's: who raises it, and when, decides.
LOST = Pattern(
    BETWEEN_TASKS.text
    + r"|Socket closed|[Cc]onnection reset by peer|failed to connect to all addresses"
    r"|Connection refused|Broken pipe|The tasks have crashed|heartbeat timeout"
    r"|[Cc]onnection closed by (?:remote )?peer|Read error \[|Write error \["
    r"|stopped sending heartbeats|Failed to send RPC to coordination service"
    r"|Deadline Exceeded\s+RPC: /tensorflow\.CoordinationService"
    r"|failed with (?:Unavailable|Aborted|Cancelled)Error|PSUnavailableError"
    r"|preemption in a connected worker or parameter server"
    r"|tried to connect with a different incarnation|Connection timed out"
    r"|Collective ops is aborted by: "
)
# Whatever the error is called: another task's trouble ended this one's step.
ABORTED = Pattern(r"Collective ops is aborted by: ")
LOST_ERRORS = Pattern(
    r"(?:Unavailable|Aborted|Cancelled|DeadlineExceeded|PSUnavailable|WorkerPreempted)Error$"
)

TRANSIENT = Pattern(r"(?:^|\.)(?:Unavailable|Aborted|DeadlineExceeded)Error$")
NAMES_A_TASK = Pattern(r"/job:\w+")


def is_aftermath(evidence: Evidence, seen: TracebackSeen) -> bool:
    """Whether an exception was thrown for want of a peer, whatever it is called.

    In words that only the transport between tasks has; or inside of a framework, in words that name
    a lost connection, after a peer was gone.
    """
    if ABORTED.search(seen.message):
        return True
    if LOST_ERRORS.search(seen.exception) and not is_about_no_peer(evidence, seen):
        return True
    if _is_sent(evidence, seen):
        return True
    if not seen.frames or not is_of_framework(seen.frames[-1]):
        return False
    if BETWEEN_TASKS.search(f"{seen.exception}: {seen.message}"):
        return True
    gone_s = [
        exited.at_s
        for task in evidence.tasks
        if task != seen.task and (exited := evidence.exit_of(task))
    ]
    left = any(-LEAVING_S <= seen.at_s - at_s <= AFTER_S for at_s in gone_s)
    return left and LOST.search(seen.message) is not None


def is_about_no_peer(evidence: Evidence, seen: TracebackSeen) -> bool:
    """Whether an error that TensorFlow calls transient is about something else than a peer.

    The program itself raised it, in words of its own, while all peers were there.
    """
    if not TRANSIENT.search(seen.exception) or LOST.search(seen.message):
        return False
    if not seen.frames or is_of_framework(seen.frames[-1]) or NAMES_A_TASK.search(seen.message):
        return False
    return not any(
        exited.at_s <= seen.at_s
        for task in evidence.tasks
        if task != seen.task and (exited := evidence.exit_of(task))
    )


def _is_sent(evidence: Evidence, seen: TracebackSeen) -> bool:
    """Whether it is another task's, and stands in the message of what ended this one's step."""
    outer = quoted_by(seen, _logged(evidence, seen))
    return outer is not None and ABORTED.search(outer.message) is not None


def _logged(evidence: Evidence, seen: TracebackSeen) -> list[TracebackSeen]:
    same = (one for one in evidence.of(TracebackSeen, seen.task) if one.source == seen.source)
    return [one for one in same if not isinstance(one, ExceptionLeft)]


def raised_over(evidence: Evidence, seen: TracebackSeen) -> list[TracebackSeen]:
    """The chain that an exception ended, its root first."""
    if isinstance(seen, ExceptionLeft):
        places = (*seen.came_from_at, *("" for _ in seen.came_from))
        pairs = list(zip(seen.came_from, places, strict=False))
        return [*(_of_chain(seen, said, at) for said, at in reversed(pairs)), seen]
    same = [one for one in _logged(evidence, seen) if one.stream == seen.stream]
    chains = chains_of(sorted(same, key=lambda one: one.offset))
    return next((chain for chain in chains if seen in chain), [seen])


def _of_chain(seen: ExceptionLeft, said: str, at: str) -> TracebackSeen:
    name, _, message = said.partition(": ")
    return replace(seen, exception=name, message=message, frames=(at,) if at else (), came_from=())

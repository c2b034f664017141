"""What a task says and throws when a peer of its cluster is gone."""

from holdfast.model.pattern import Pattern

LOST = Pattern(
    r"Socket closed|[Cc]onnection reset by peer|failed to connect to all addresses"
    r"|Connection refused|Broken pipe|The tasks have crashed|heartbeat timeout"
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

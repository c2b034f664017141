"""A call to a task that is there was not answered within its deadline.

## What you see
`Deadline Exceeded`, `DEADLINE_EXCEEDED` or `DeadlineExceededError`, below it often
`Additional GRPC error information from remote target /job:…/task:N`.

## Why it happens
The task named there is stopped, overloaded, cut off, or busy with one long step; or the deadline
is shorter than what was asked for: a large transfer, a slow start.

## How to confirm it by hand
On the host of the named task: does its process run (`ps -o stat,wchan -p PID`), is its CPU or its
network full (`top`, `sar -n DEV 1`)? From the other host: `nc -vz HOST PORT`.

## What to do
Look at the named task first. If it is only slow, raise the deadline: `operation_timeout_in_ms`,
`heartbeat_timeout_in_ms`, `CommunicationOptions(timeout_seconds=…)`.

## When this accusation would be wrong
When the network between the two is cut: then the named task complains of the others, too. It is
the program's own deadline, by the wall clock: a starved task misses it as well. So these words are
a symptom, and whatever else is proven of the task comes first.
"""

from holdfast.model.findings import Cause
from holdfast.model.pattern import Pattern
from holdfast.model.remedies import AskHuman
from holdfast.model.wording import Weight, Words

cause = Cause(
    family="deadline-exceeded",
    remedy=AskHuman(),
    where=(Pattern(r"Error received from peer (?:ipv[46]:)?(?P<culprit>[\w.:\[\]]+:\d+)"),),
    words=(
        # Gateways, REST servers and clients of HTTP.
        Words(
            Pattern(
                r"504 (?:Server Error|Gateway)|[Gg]ateway Time-?out|upstream request timeout"
                r"|Timed out waiting for notification|ReadTimeout(?:Error)?\b|Read timed out"
                r"|Client\.Timeout exceeded|HTTP (?:status|response)(?: code)?:? 504\b"
                r"|[Rr]esponse \[504\]|context deadline exceeded|SocketTimeoutException: Read"
                r"|408 Request Time-?out|[Rr]equest timed out after"
            ),
            Weight.SYMPTOM,
            unless=Pattern(r"(?i:retry|warning)"),
            says="{who} did not answer within the deadline: {line}",
        ),
        Words(
            Pattern(r"Deadline ?Exceeded|DEADLINE_EXCEEDED|DeadlineExceededError"),
            Weight.SYMPTOM,
            unless=Pattern(
                r"Barrier timed out|RegisterTask|Collective has timed out|store based barrier"
            ),
            says="{who} did not answer within the deadline: {line}",
        ),
    ),
    do=(
        "look at the task that did not answer: is it stopped, starved or overloaded?",
        "if it is only slow, raise the deadline of the call",
    ),
)

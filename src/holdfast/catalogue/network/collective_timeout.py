"""A collective operation did not end in time: some member came late, or never.

## What you see
PyTorch: `Watchdog caught collective operation timeout: WorkNCCL(SeqNum=…, OpType=…)`, gloo:
`Timed out waiting 1800000ms for recv operation to complete`; Horovod: `waiting for remainder of
ranks` and `Missing ranks:`; TensorFlow: `Collective has timed out during execution`; XLA:
`Termination timeout for … of 40 seconds exceeded`.

## Why it happens
One member did not enter the operation (it failed, hangs, loads data, saves a checkpoint), entered
another one, or the network between the devices does not work at all: then already the first
operation times out.

## How to confirm it by hand
Compare `last enqueued work` and `last completed work` of all members: who is behind is the one.
With `TORCH_NCCL_TRACE_BUFFER_SIZE=2000`, or with `py-spy dump` of all processes while they hang.

## What to do
Look at the member that is behind. If all stopped in the first operation, check the network with
`NCCL_DEBUG=INFO`. If one is only slow now and then, raise the limit.

## When this accusation would be wrong
When a member ended before with an error of its own: that one is to blame, and is told first. It is
the program's own time-out, by the wall clock: a starved member comes late as well. That the
operation was given up is true all the same: look at the member that is behind.
"""

from holdfast.model.findings import Cause
from holdfast.model.pattern import Pattern
from holdfast.model.remedies import AskHuman
from holdfast.model.wording import Weight, Words

cause = Cause(
    family="collective-timeout",
    remedy=AskHuman(),
    yields_to=frozenset({"collective-mismatch"}),
    words=(
        Words(
            Pattern(
                r"(?P<culprit>[Rr]ank \d+)\] (?:Watchdog caught collective operation timeout"
                r"|Caught collective operation timeout)"
            ),
            Weight.SIGN,
            says="a collective operation timed out at {culprit}: {line}",
        ),
        Words(
            Pattern(
                r"[Cc]aught collective operation timeout|Collective has timed out during execution"
                r"|Timed out waiting \d+ms for (?:recv|send) operation to complete"
                r"|Termination timeout for .* of \d+ seconds exceeded"
                r"|Some NCCL operations have failed or timed out|failed to pass monitoredBarrier"
                r"|wait timeout after \d+ ?ms, keys: /default_pg|Heartbeat monitor timed out!"
                r"|[Bb]arrier (?:has )?timed out (?:after|on|at)|[Cc]ollectives? stuck for"
                r"|(?:ALLREDUCE|ALLGATHER|BROADCAST|BARRIER|REDUCE_SCATTER)\b[^\n]{0,80}timed out"
                r"|[Cc]ollective (?:operation )?(?:has )?timed out|Timeout at NCCL work"
            ),
            Weight.SIGN,
            blames_nobody=True,
            says="a collective operation timed out: {line}",
        ),
        # Horovod: `Missing ranks:` below it names who did not submit what the others did.
        Words(
            Pattern(
                r"by subset of ranks and are waiting for remainder of ranks"
                r"(?:(?s:.*?)(?:[Mm]issing|Stalled) ranks:\s*(?P<rank>\d+))?"
            ),
            Weight.SIGN,
            says="some ranks wait in a collective operation, and {who} has not come: {line}",
        ),
        Words(
            Pattern(r"This thread has been waiting for .* and may be stuck"),
            Weight.SYMPTOM,
            unless=Pattern(r"initialize clique"),
            last=True,
            says="a collective operation stands still: {line}",
        ),
    ),
    do=(
        "find the member that is behind: compare the last completed work of all of them",
        "run again with NCCL_DEBUG=INFO and TORCH_NCCL_TRACE_BUFFER_SIZE=2000",
    ),
)

"""A program's own time limit for a step ran out, while a task that it waited for still computed.

## What you see
`DeadlineExceededError: Operation timed out.` out of `session.run`, in TensorFlow 1 also `Timed out
waiting for notification`. No other task failed, and no connection was lost.

## Why it happens
The session was made with `operation_timeout_in_ms`, and a step took longer: most often a parameter
server has more to compute than its cores can do in that time, or too few cores of its own.

## How to confirm it by hand
`grep -rn operation_timeout_in_ms` in the program. `top` on the host of the parameter server while a
step runs: it computes until the error, and the worker idles.

## What to do
Give the limit as long as a step may take on a busy host, or none: `operation_timeout_in_ms=0`. Give
the busy server more cores, add parameter servers, or compute less on it.

## When this accusation would be wrong
The limit is the program's own, by the wall clock: on a starved host it runs out although nobody
does anything wrong, and the sentence says so. A server is named only if it alone was seen to
compute, or to want a core, until the step was given up; of a peer that died, was stopped or was
cut off its own cause tells.
"""

from collections.abc import Iterator

from holdfast.model.cluster import TaskId
from holdfast.model.evidence import Evidence
from holdfast.model.facts import TaskExited, TracebackSeen
from holdfast.model.findings import Cause, Confidence, Proof
from holdfast.model.lost_peer import raised_over
from holdfast.model.origin import origin_of, origin_of_chain
from holdfast.model.pattern import Pattern
from holdfast.model.remedies import AskHuman
from holdfast.model.watch_facts import TaskSampled

GIVEN_UP = Pattern(r"DeadlineExceededError$")
OWN_LIMIT = Pattern(r"Operation timed out|Timed out waiting for notification")
SEEN_S = 20.0  # so long before the end what a task does is what the step waited for
BUSY_CORES = 0.5
STARVED_SHARE = 0.3


def detect(evidence: Evidence) -> Iterator[Proof]:
    for failure in evidence.failures():
        seen = evidence.last_traceback(failure.task)
        if seen is None or not GIVEN_UP.search(seen.exception):
            continue
        chain = raised_over(evidence, seen)
        if any(OWN_LIMIT.search(one.message) for one in chain):
            yield _proof(evidence, seen, failure, at=_where(chain))


def _where(chain: list[TracebackSeen]) -> str:
    return origin_of_chain(chain).at or origin_of(chain[-1]).at


def _proof(evidence: Evidence, seen: TracebackSeen, failure: TaskExited, *, at: str) -> Proof:
    busy = _busy(evidence, seen)
    server = busy[0].task if len(busy) == 1 else None
    where = f" at {at}" if at else ""
    return Proof(
        facts=(*busy, seen, failure),
        culprit=server,
        seen_at=seen.task,
        confidence=Confidence.HIGH if server else Confidence.LIKELY,
        says=f"{seen.task} gave up a step{where} when its own time limit was over: "
        + (_doing(busy[0]) if server else "which task it waited for is not known"),
        do=(
            f"raise the session's limit{where}: ConfigProto(operation_timeout_in_ms=…), or 0",
            *_more_cores(busy, server),
        ),
    )


def _busy(evidence: Evidence, seen: TracebackSeen) -> list[TaskSampled]:
    """The newest samples of those who computed until then: of servers, else of any other task."""
    newest = {
        sample.task: sample
        for sample in evidence.of(TaskSampled)
        if sample.task != seen.task and 0 <= seen.at_s - sample.at_s <= SEEN_S
    }
    busy = [sample for sample in newest.values() if _wanted_cores(sample) >= BUSY_CORES]
    return [one for one in busy if one.task and one.task.role == "ps"] or busy


def _wanted_cores(sample: TaskSampled) -> float:
    """What it would have used, had it always had a core when it wanted one."""
    return sample.cpu_share / max(0.05, 1 - _without_core(sample))


def _without_core(sample: TaskSampled) -> float:
    return max(sample.starved_share, sample.threads_starved_share, sample.throttled_share)


def _doing(sample: TaskSampled) -> str:
    computed = f"{sample.task} computed all that time, and used {sample.cpu_share:.2f} cores"
    if _without_core(sample) < STARVED_SHARE:
        return computed
    return f"{computed}; it wanted one and got none {_without_core(sample):.0%} of the time"


def _more_cores(busy: list[TaskSampled], server: TaskId | None) -> Iterator[str]:
    if server is None:
        yield "look at what the others did before: holdfast stacks, and the tasks' own logs"
    elif _without_core(busy[0]) >= STARVED_SHARE:
        yield f"keep other programs off the cores of {busy[0].host}: {server} is overloaded"
    else:
        yield f"{server} is overloaded: give it more cores, or add parameter servers: --ps N"


cause = Cause(family="deadline-exceeded", detect=detect, remedy=AskHuman(), echo=True)

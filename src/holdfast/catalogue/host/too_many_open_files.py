"""A task reached its limit of open files.

## What you see
`Too many open files` or `File descriptor limit reached`, from Python as `OSError: [Errno 24]`,
from gRPC about a socket. A task that only serves may hang instead of ending.

## Why it happens
The limit (`ulimit -n`) is low, many input files are open at once, or descriptors leak. Every
connection to a peer is one too.

## How to confirm it by hand
`ls /proc/PID/fd | wc -l` against `grep 'open files' /proc/PID/limits`.

## What to do
Raise the limit before the start, with `ulimit -n 65536`, or close what is not used.

## When this accusation would be wrong
When the whole host is out of file handles (`Too many open files in system`), which no limit
of the task cures.
"""

from collections.abc import Iterator

from holdfast.model.evidence import Evidence
from holdfast.model.facts import Fact, LimitSeen
from holdfast.model.findings import Cause, Proof
from holdfast.model.pattern import Pattern
from holdfast.model.remedies import AskHuman
from holdfast.model.wording import Words

REACHED = Pattern(
    r"[Tt]oo many open files|\[Errno 2[34]\]|ENFILE|EMFILE|File descriptor limit reached"
)
IN_SYSTEM = Pattern(r"Too many open files in system")


def detect(evidence: Evidence) -> Iterator[Proof]:
    for failure in evidence.failures():
        said = list(evidence.lines(REACHED, failure.task))
        if not said or not evidence.ended_over(failure, REACHED):
            continue
        limit = next(evidence.of(LimitSeen, failure.task), None)
        facts: tuple[Fact, ...] = (said[0], *((limit,) if limit else ()), failure)
        whole_host = bool(IN_SYSTEM.search(said[0].text))
        bound = f" of {limit.soft}" if limit and not whole_host else ""
        whose = "the host's limit" if whole_host else "its limit"
        yield Proof(
            facts=facts,
            culprit=failure.task,
            says=f"{failure.task} reached {whose}{bound} open files",
            do=(
                "raise fs.file-max with sysctl"
                if whole_host
                else "raise the limit before the start: ulimit -n 65536",
                "look for a leak: ls -l /proc/PID/fd",
            ),
        )


cause = Cause(
    family="too-many-open-files",
    detect=detect,
    hears=(REACHED,),
    words=(
        Words(REACHED),
        Words(
            Pattern(
                r"received \d+ items of ancdata|number of file watchers reached"
                r"|exceeded[^\n]{0,40}open files limit"
            )
        ),
    ),
    do=(
        "raise the limit before the start: ulimit -n 65536",
        "look for a leak: ls -l /proc/PID/fd",
    ),
    where=(Pattern(r"(?P<culprit>/[^\s;:'\"]+); Too many open files"),),
    remedy=AskHuman(),
    preview=False,
)

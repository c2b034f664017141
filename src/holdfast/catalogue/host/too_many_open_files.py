"""A task reached its limit of open files.

## What you see
`Too many open files` or `File descriptor limit reached`, from Python as `OSError: [Errno 24]`,
from gRPC about a socket. A task that only serves may hang instead of ending.
Before that a warning: at nine tenths of the limit, or where its pace leads there in two minutes.

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
from holdfast.model.findings import Cause, Confidence, Proof, Severity
from holdfast.model.pattern import Pattern
from holdfast.model.remedies import AskHuman
from holdfast.model.watch_facts import FilesNearLimit
from holdfast.model.wording import Words
from holdfast.model.words import seconds_text

REACHED = Pattern(
    r"[Tt]oo many open files|\[Errno 2[34]\]|ENFILE|EMFILE|File descriptor limit reached"
)
LASTING_S = 25.0  # it is told every 10 s while it lasts
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
    yield from _nearly(evidence.while_running)


def _nearly(evidence: Evidence) -> Iterator[Proof]:
    """Of those that run: by the newest look at each."""
    now_s = max((fact.at_s for fact in evidence.facts), default=0.0)
    newest = {fact.task: fact for fact in evidence.of(FilesNearLimit)}
    for task, fact in newest.items():
        if now_s - fact.at_s > LASTING_S or evidence.exit_of(task):
            continue
        left = f", and will have reached its limit in {seconds_text(fact.left_s)}"
        yield Proof(
            facts=(fact,),
            culprit=task,
            confidence=Confidence.HIGH,
            severity=Severity.WARNING,
            says=f"{task} has {fact.used} files open, of {fact.limit} that it may"
            f"{left if fact.left_s else ''}",
            do=(
                f"look for a leak: ls -l /proc/{fact.pid}/fd",
                f"raise the limit now: prlimit --pid {fact.pid} --nofile=65536",
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

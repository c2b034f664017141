"""A task waits for storage that does not answer, and cannot even be killed meanwhile.

## What you see
The whole job stands still without a word. `kill -9` does nothing to the task until the storage
answers again; then everything goes on as if nothing had been.

## Why it happens
A file server that is gone (NFS, Lustre, FUSE), a disk that is dying, a frozen or overloaded file
system.

## How to confirm it by hand
`grep State /proc/PID/status` says `D`; `cat /proc/PID/wchan` and `/proc/PID/stack` name where it
waits. `dmesg | tail`: `blocked for more than`, `server not responding`, `I/O error`.

## What to do
Bring the storage back: the task goes on by itself. If it does not come back, the host has to be
left alone; start the job elsewhere.

## When this accusation would be wrong
A large file that is made durable on a slow disk looks the same for some seconds, so it is a
warning at first, and an error when one single call has lasted for a minute. Only time in which
the thread did not run at all counts: a starved host does not put anybody into state D. A task that
was frozen with its cgroup is `stopped`.

What it knows more than `keeps-waiting`: which file and file system, and what the kernel says of
them.
"""

from collections.abc import Iterator

from holdfast.model.cluster import TaskId
from holdfast.model.evidence import Evidence
from holdfast.model.facts import Fact, ProcessSeen
from holdfast.model.findings import HUNG_CODE, Cause, Confidence, Proof, Severity
from holdfast.model.pattern import Pattern
from holdfast.model.remedies import WaitAndSee
from holdfast.model.watch_facts import KernelSaid, TaskStill
from holdfast.model.wording import Weight, Words
from holdfast.model.words import seconds_text

LASTING_S = 5.0
CERTAIN_S = 20.0  # no disk that works takes so long for one call
HANGS_S = 60.0  # but a large file that is made durable on a slow one may


def detect(evidence: Evidence) -> Iterator[Proof]:
    until_s = evidence.ending_s()
    for task in evidence.tasks:
        seen = [fact for fact in evidence.of(ProcessSeen, task) if fact.at_s <= until_s]
        last = seen[-1] if seen else None
        if last is None or last.state != "D" or last.frozen or evidence.exit_of(task):
            continue
        first = next(fact for fact in seen if fact.at_s >= last.at_s - last.lasting_s)
        if last.lasting_s >= LASTING_S:
            yield _proof(evidence, task, first, last)


def _proof(evidence: Evidence, task: TaskId, first: ProcessSeen, last: ProcessSeen) -> Proof:
    since_s = last.at_s - last.lasting_s
    stills = [still for still in evidence.of(TaskStill, task) if still.at_s >= since_s]
    kernel = [
        said
        for said in evidence.of(KernelSaid)
        if said.host == last.host and (said.task == task or said.about == "io-error")
    ]
    place = f" for {last.path}" if last.path else ""
    where = f" (in {last.waits_in})" if last.waits_in else ""
    harm = bool(stills) or last.lasting_s >= CERTAIN_S
    facts: tuple[Fact, ...] = (first, last) if last is not first else (last,)
    return Proof(
        facts=(*facts, *stills[-1:], *kernel[-1:]),
        culprit=task,
        confidence=Confidence.CERTAIN if harm else Confidence.LIKELY,
        severity=Severity.ERROR if last.lasting_s >= HANGS_S else Severity.WARNING,
        says=f"{task} has waited for storage{place} for {seconds_text(last.lasting_s)}{where} and"
        f" cannot even be killed: pid {last.pid} on {last.host} is in state D",
        do=(
            f"on {last.host}: dmesg | tail -20; cat /proc/{last.pid}/stack",
            f"see whose file system it is: {_look_at(last)}",
            "bring the storage back; the task then goes on by itself",
        ),
        exit_code=HUNG_CODE,
    )


def _look_at(seen: ProcessSeen) -> str:
    """Commands that do not wait for the same storage."""
    if seen.path:
        return "findmnt -n -o TARGET,SOURCE,FSTYPE; compare " + seen.path
    return f"ls -l /proc/{seen.pid}/fd /proc/{seen.pid}/cwd; findmnt -n -o TARGET,SOURCE,FSTYPE"


WORDS = (
    Words(
        Pattern(r"nfs: server (?P<culprit>[\w.:-]+) not responding"),
        unless=Pattern(r"not responding, timed out"),
        says="the file server {culprit} does not answer: {line}",
    ),
    Words(
        Pattern(
            r"(?:(?P<host>[\w.-]+) kernel: [^\n]*)?"
            r"INFO: task (?P<culprit>\S+):\d+ blocked for more than \d+ seconds"
        ),
        Weight.SYMPTOM,
        says="a process stands still inside the kernel, most often for storage: {line}",
    ),
)

cause = Cause(
    family="task-stalled",
    detect=detect,
    live=True,
    remedy=WaitAndSee(),
    yields_to=frozenset({"stalled-at-start"}),
    words=WORDS,
    do=(
        "see what it waits for: cat /proc/PID/wchan; dmesg -T | tail -50",
        "see whether the file server and its disk answer: timeout 5 ls FOLDER",
    ),
)

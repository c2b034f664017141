"""Two tasks write summaries or checkpoints into one folder, each as if it were alone.

## What you see
TensorBoard's curves jump back and forth, or it warns of more than one event file in a run. A
checkpoint cannot be read, is of another step than its name says, or vanishes: each writer keeps
the newest few of its own, and removes the rest.

## Why it happens
All tasks run the same program with the same `--logdir`. Only the chief may write checkpoints into
a folder that all share, and each task needs a folder of its own for summaries. With
`MonitoredTrainingSession(is_chief=True)` in a program that several workers run, all of them save.

## How to confirm it by hand
`ls -l /proc/PID/fd` of both tasks: open files named events.out.tfevents… in one folder, or
parts of a checkpoint below one. The names of event files end with host and pid of their writers.

## What to do
`places = holdfast.tf.logdir("/shared/run")`, then write to `places.checkpoints` and
`places.summaries`; or choose the folders by the task in TF_CONFIG.

## When this accusation would be wrong
When the writers are meant to be read as one: TensorBoard still mixes them. When only one task
comes to the line with `is_chief=True`: before a start, that is `likely` and no more. Parts of one
checkpoint that several tasks write together are not taken for this.
"""

from collections.abc import Iterator

from holdfast.model.begun import begun_tasks
from holdfast.model.cluster import TaskId
from holdfast.model.evidence import Evidence
from holdfast.model.facts import HostMeasured, SpecRead
from holdfast.model.findings import Cause, Confidence, Proof, Severity
from holdfast.model.program_facts import ChiefForAll
from holdfast.model.remedies import AskHuman
from holdfast.model.watch_facts import FolderWritten
from holdfast.model.words import listed

LEADING = ("chief", "master", "worker")
SERVERS = frozenset({"ps"})
HARM = {
    "summaries": "TensorBoard mixes their curves",
    "checkpoints": "they overwrite and remove each other's",
}


def detect(evidence: Evidence) -> Iterator[Proof]:
    by_place: dict[tuple[str, str, str], dict[TaskId, FolderWritten]] = {}
    for fact in evidence.of(FolderWritten):
        # A folder of another host is another folder, unless both have it from one server.
        place = (fact.what, fact.server or f"host {fact.host}", fact.folder)
        # A parameter server writes its part of a checkpoint for whoever saves it.
        if fact.task is not None and fact.what in HARM and fact.task.role not in SERVERS:
            by_place.setdefault(place, {}).setdefault(fact.task, fact)
    for (what, _, folder), writers in sorted(by_place.items()):
        if len(writers) > 1:
            yield _proof(what, folder, writers)
    if not begun_tasks(evidence) and _leaders(evidence) > 1:
        yield from _in_program(evidence)


def _leaders(evidence: Evidence) -> int:
    """How many tasks could take themselves for the chief."""
    names = {name for host in evidence.of(HostMeasured) for name in host.tasks}
    for spec in evidence.of(SpecRead):
        names |= {f"{role}:{index}" for role, of in spec.cluster.items() for index in of}
    return sum(name.partition(":")[0] in LEADING for name in names)


def _in_program(evidence: Evidence) -> Iterator[Proof]:
    """The first line of each file: more of them say nothing new."""
    first = {seen.file: seen for seen in reversed(list(evidence.of(ChiefForAll)))}
    for seen in first.values():
        place = f"{seen.file} line {seen.line}"
        yield Proof(
            facts=(seen,),
            culprit=None,
            place=place,
            confidence=Confidence.LIKELY,
            says=(
                f"{place} makes a chief of every task that runs it ({seen.text}): all of them"
                " save checkpoints and summaries into one folder"
            ),
            do=("ask TF_CONFIG who the chief is: is_chief=holdfast.tf.logdir(…).is_chief",),
        )


def _proof(what: str, folder: str, writers: dict[TaskId, FolderWritten]) -> Proof:
    return Proof(
        facts=tuple(writers.values()),
        culprit=None,
        place=f"{what} in {folder}",
        confidence=Confidence.HIGH,
        says=f"{listed(sorted(writers))} write {what} into one folder, {folder}: {HARM[what]}",
        do=(
            "choose the folder by the task: places = holdfast.tf.logdir(…), then"
            f" places.{what}, which is the shared one for the chief only"
            if what == "checkpoints"
            else "give each task a folder of its own: holdfast.tf.logdir(…).summaries",
        ),
    )


cause = Cause(
    family="corrupt-data",
    detect=detect,
    remedy=AskHuman(),
    severity=Severity.WARNING,
)

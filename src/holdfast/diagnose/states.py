"""Which state each task is in, by all that is known: what a person asks for first."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from holdfast.model.cluster import TaskId
from holdfast.model.evidence import Evidence, FactKind
from holdfast.model.facts import PathProbed, TaskNotStarted
from holdfast.model.findings import Confidence, Finding
from holdfast.model.signals import signal_name
from holdfast.model.standing import is_ready
from holdfast.model.watch_facts import StepsSeen, TaskSampled, TaskStill
from holdfast.model.words import seconds_text

# What a proven cause makes of its culprit. `standing` accuses nobody: others wait for it, or it
# takes no step, and no cause says why.
STATE_OF = {
    "keeps-waiting": "standing",
    "stopped": "stopped",
    "stuck-on-storage": "stuck-on-storage",
    "user-deadlock": "deadlocked",
    "livelock": "livelocked",
    "straggler": "slow",
    "cpu-starved": "starved",
    "input-starved": "starved",
    "host-lost": "lost",
    "partition": "lost",
}
SURE = frozenset({Confidence.CERTAIN, Confidence.HIGH})
WORKING_SHARE = 0.03  # of a core; a server that waits uses a tenth of that


@dataclass(frozen=True, slots=True)
class TaskState:
    name: str
    says: str


def task_states(evidence: Evidence, findings: Sequence[Finding]) -> dict[TaskId, TaskState]:
    """One state for each task of the job."""
    special_last = sorted(findings, key=lambda finding: not finding.cause.general)
    found = {task: state for finding in special_last for task, state in _from(finding)}
    return {
        task: _ended(evidence, task) or found.get(task) or _alive(evidence, task)
        for task in evidence.tasks
    }


def _from(finding: Finding) -> Iterator[tuple[TaskId, TaskState]]:
    """The culprit's state, and that of those who wait for it."""
    culprit = finding.proof.culprit
    if finding.proof.confidence not in SURE or finding.name not in STATE_OF:
        return
    for echo in finding.echoes:
        yield echo.task, TaskState("waiting", echo.says)
    if culprit is not None:
        yield culprit, TaskState(STATE_OF[finding.name], finding.proof.says)


def _ended(evidence: Evidence, task: TaskId) -> TaskState | None:
    exited = evidence.exit_of(task)
    if exited is None:
        refused = next(evidence.of(TaskNotStarted, task), None)
        return TaskState("dead", f"could not be started: {refused.errno_name}") if refused else None
    if exited.unseen:
        return TaskState("ended", "gone, and nobody saw how")
    if exited.signal is not None:
        how = f"ended on {signal_name(exited.signal)}"
    else:
        how = f"ended with exit code {exited.exit_code}"
    if exited.exit_code == 0:
        return TaskState("done", how)
    return TaskState("ended", how) if evidence.ended_by_us(exited) else TaskState("dead", how)


def _alive(evidence: Evidence, task: TaskId) -> TaskState:
    step = _last(evidence.of(StepsSeen, task))
    if step is not None:
        return TaskState("training", f"at step {step.step}")
    still = _last(evidence.of(TaskStill, task))
    sample = _last(evidence.of(TaskSampled, task))
    ready = any(look.target == task and is_ready(look) for look in evidence.of(PathProbed))
    if ready and sample is not None and sample.cpu_share > WORKING_SHARE:
        return TaskState("training", f"uses {sample.cpu_share:.0%} of a core")
    if ready:
        idle = f", and does nothing for {seconds_text(still.still_s)}" if still else ""
        return TaskState("ready", f"its server answers{idle}")
    return TaskState("starting", "its server has not answered yet")


def _last(facts: Iterator[FactKind]) -> FactKind | None:
    return max(facts, key=lambda fact: fact.at_s, default=None)

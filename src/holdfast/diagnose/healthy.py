"""Which tasks are well: seen to get on, accused by nobody, and suffering from nobody."""

from collections.abc import Sequence

from holdfast.model.cluster import TaskId
from holdfast.model.evidence import Evidence
from holdfast.model.facts import (
    Attached,
    PathProbed,
    StartWaits,
    StopAsked,
    TaskNotStarted,
    TaskStarted,
)
from holdfast.model.finding_facts import FindingTakenBack, FindingTold
from holdfast.model.findings import Finding
from holdfast.model.log_facts import LogsGiven
from holdfast.model.middle import median
from holdfast.model.path import Outcome
from holdfast.model.recovery_facts import CheckpointSaved
from holdfast.model.standing import standings
from holdfast.model.start_calls import standing_at_start
from holdfast.model.watch_facts import StepsSeen, TaskSampled
from holdfast.model.words import listed

WORKING_SHARE = 0.01  # of a core; one that only waits uses less
FELL_IDLE, SAMPLES_MIN = 0.1, 3  # of what it usually used, by so many samples at least
STANDS, JUST_S = "keeps-waiting", 10.0  # what was taken back so shortly before proves nothing
BUSY_SHARE = 0.03  # the same where some seconds are all that was seen: one that polls uses less
STARVED_SHARE = 0.9  # of the time it wanted a core and got none: what little it did proves nothing


def healthy_tasks(evidence: Evidence, findings: Sequence[Finding]) -> tuple[TaskId, ...]:
    concerned = {finding.proof.culprit for finding in findings}
    concerned |= {finding.proof.seen_at for finding in findings}
    concerned |= {echo.task for finding in findings for echo in finding.echoes}
    # Where nobody alone is to blame, those whom the proof is about are not well either.
    concerned |= {
        fact.task
        for finding in findings
        if finding.proof.culprit is None and finding.is_of_standstill
        for fact in finding.proof.facts
    }
    concerned |= {failure.task for failure in evidence.failures()}
    concerned |= set(evidence.unseen_ends())
    concerned |= {fact.task for fact in evidence.of(TaskNotStarted)}
    well = tuple(task for task in evidence.tasks if task not in concerned)
    return tuple(task for task in well if got_on(evidence, task)) if needs_proof(evidence) else well


def needs_proof(evidence: Evidence) -> bool:
    """Whether anybody was there to see it get on: then silence is no proof that it did."""
    return is_run(evidence) or any(evidence.of(Attached))


def is_run(evidence: Evidence) -> bool:
    """Whether we ran the job and all of it has ended: then there was time to see it get on."""
    started = [fact.task for fact in evidence.of(TaskStarted)]
    over = all(evidence.exit_of(task) is not None for task in started)
    return bool(started) and over and not any(evidence.of(LogsGiven))


def trained(evidence: Evidence, task: TaskId) -> bool:
    """Whether it trains and got on, whatever it was warned of meanwhile."""
    return task.trains and got_on(evidence, task)


def blocked_start(evidence: Evidence) -> str:
    """What the start-up waited for when somebody stopped the job, if it had not got on by then."""
    if not any(evidence.of(StopAsked)):
        return ""
    last = max(evidence.of(StartWaits), key=lambda fact: fact.at_s, default=None)
    if last is None:
        return _half_up(evidence)
    stepped = any(fact.at_s > last.at_s for fact in evidence.of(StepsSeen))
    return last.says if last.missing and not stepped else ""


def _half_up(evidence: Evidence) -> str:
    """Whose server was not up by the last looks, while those of others were, and nobody stepped."""
    looks = standings(evidence)
    closed = [task for task, one in looks.items() if one.look.outcome == Outcome.REFUSED]
    stepped = any(fact.source != "checkpoint" for fact in evidence.of(StepsSeen))
    if stepped or not closed or not any(one.is_ready for one in looks.values()):
        return ""
    return f"{listed(closed)} had not opened {'their ports' if closed[1:] else 'its port'} yet"


def fell_idle(evidence: Evidence, task: TaskId) -> bool:
    """Whether it worked, and did nothing any more for some seconds when somebody stopped it."""
    exited = evidence.exit_of(task)
    if not task.trains or exited is None or not any(evidence.of(StopAsked)):
        return False
    until_s = evidence.ending_s()
    if _just_stood(evidence, task, until_s):
        return True
    samples = [fact for fact in evidence.of(TaskSampled, task) if fact.at_s <= until_s]
    if len(samples) <= SAMPLES_MIN:
        return False
    last = samples[-1]
    usual = median(sample.cpu_share for sample in samples[:-1])
    since_s = last.at_s - last.over_s
    stepped = any(since_s < fact.at_s < exited.at_s for fact in evidence.of(StepsSeen, task))
    return last.cpu_share < FELL_IDLE * usual and not stepped


def _just_stood(evidence: Evidence, task: TaskId, until_s: float) -> bool:
    """Whether others waited for it until shortly before, and nobody has seen a step of it since."""
    told = [one for one in evidence.of(FindingTold, task) if one.cause == STANDS]
    back = [one for one in evidence.of(FindingTakenBack, task) if one.cause == STANDS]
    if not told or not any(until_s - JUST_S <= one.at_s <= until_s for one in back):
        return False
    steps = evidence.of(StepsSeen, task)
    return not any(told[-1].at_s < fact.at_s <= until_s for fact in steps)


def got_on(evidence: Evidence, task: TaskId) -> bool:
    """Whether a task ended well, was ended because the job was done, or was seen at its work."""
    exited = evidence.exit_of(task)
    if exited is not None and exited.exit_code == 0:
        return True
    if any(one.task == task for one in standing_at_start(evidence)):
        return False
    if exited is not None and evidence.ended_by_us(exited) and not any(evidence.of(StopAsked)):
        return True
    if blocked_start(evidence) or fell_idle(evidence, task):
        return False
    if not task.trains:
        return any(evidence.of(TaskSampled, task)) or any(evidence.of(PathProbed))
    saved = any(fact.path for fact in evidence.of(CheckpointSaved))  # when it was asked to end
    stepped = any(fact.source != "checkpoint" for fact in evidence.of(StepsSeen, task))
    return saved or stepped or any(map(_works, evidence.of(TaskSampled, task)))


def _works(fact: TaskSampled) -> bool:
    """A main thread that does all the work itself and waits for nobody may run in circles."""
    circles = fact.main_wakes == 0 and fact.main_cpu_share > fact.cpu_share / 2
    needed = WORKING_SHARE if fact.main_wakes < 0 else BUSY_SHARE
    starved = fact.starved_share >= STARVED_SHARE
    return fact.cpu_share >= needed and not (circles or starved)

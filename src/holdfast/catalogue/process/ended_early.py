"""A task ended with exit code 0 while others still needed it.

## What you see
One task is gone with exit code 0 and no word of trouble. Seconds later the others fail with
`Socket closed`, `The tasks have crashed` or gloo's `Connection closed by peer`, exactly as after a
crash, or stand still for ever.

## Why it happens
It ran out of input before the others (fewer files or rows in its shard, `repeat()` forgotten), it
counts epochs or steps otherwise, an early-stopping callback decided for itself, or the program
left through `sys.exit()` or the end of `main()` on a path of its own.

## How to confirm it by hand
Compare how many steps each task made: the last step in each log. See how many batches the shard
of the task that ended has.

## What to do
Give every task the same number of steps (`steps_per_epoch`, `repeat()`, the same stopping rule),
and let all of them leave together.

## When this accusation would be wrong
When the training was over, and only the farewell of the others failed: then every task has made
all of its steps, and the errors can be ignored. Tasks that are leaving, too, and take long, are
not waiting: only who was seen inside of a step since then counts, and only while no other task that
lives is at something of its own, for then they wait for that one. As long as nobody has failed
it is a notice first, then a warning, and an error after minutes. A starved host makes a farewell
long; it puts nobody back into a step.

What it knows more than `keeps-waiting`: how the one that is gone ended, and at which step.
"""

from collections.abc import Iterator

from holdfast.model.cluster import TaskId
from holdfast.model.core_time import able_to_run_s
from holdfast.model.evidence import Evidence
from holdfast.model.facts import Fact, TaskExited
from holdfast.model.findings import GRAVITY, HUNG_CODE, Cause, Confidence, Proof, Severity
from holdfast.model.lost_peer import LOST, LOST_ERRORS
from holdfast.model.loudness import how_loud
from holdfast.model.pattern import Pattern
from holdfast.model.remedies import AskHuman
from holdfast.model.stack_rounds import looks_at
from holdfast.model.stance import Stance, stance_of
from holdfast.model.watch_facts import StepsSeen, TaskMoves, TaskStill
from holdfast.model.wording import Weight, Words
from holdfast.model.words import listed, seconds_text

# A process that is leaving closes its connections first, and takes long to be gone.
LEAVING_S = 15.0
AFTERMATH_S = 60.0
STILL_S = 5.0
ELSEWHERE = frozenset({Stance.OWN, Stance.CALLED_BACK})
TOLD_AGAIN_S = 70.0  # who still stands still is told of again within this


def detect(evidence: Evidence) -> Iterator[Proof]:
    if evidence.chief_finished():
        return
    for task in evidence.tasks:
        exited = evidence.exit_of(task)
        if exited is None or exited.exit_code != 0 or evidence.ended_by_us(exited):
            continue
        suffering = list(_suffering(evidence, exited)) if _is_needed(evidence, task) else []
        if suffering:
            yield _proof(evidence, exited, suffering)


def _is_needed(evidence: Evidence, task: TaskId) -> bool:
    """Servers end when all is over; of trainers, those that go in step with all the others."""
    with_servers = any(other.role == "ps" for other in evidence.tasks)
    return task.role == "ps" or (task.trains and not with_servers)


def _suffering(evidence: Evidence, exited: TaskExited) -> Iterator[Fact]:
    """Trainers that failed for want of a peer soon after, or have stood still ever since."""
    for other in evidence.tasks:
        if other == exited.task or not other.trains:
            continue
        failure = evidence.failure_of(other)
        if failure is not None:
            soon = -LEAVING_S <= failure.at_s - exited.at_s <= AFTERMATH_S
            if soon and _lost_a_peer(evidence, failure):
                yield failure
        elif still := _stillness(evidence, other):
            since_s = still.at_s - still.still_s
            seen_s = max(since_s, exited.at_s - LEAVING_S)
            waits = _stance(evidence, other, since_s=seen_s) is Stance.STEP
            waits = waits and not _is_another_elsewhere(evidence, since_s=seen_s)
            if still.still_s >= STILL_S and since_s >= exited.at_s - LEAVING_S and waits:
                yield still


def _stillness(evidence: Evidence, task: TaskId) -> TaskStill | None:
    """How it stands still now, or stood when somebody had enough of that and stopped the job."""
    still = max(evidence.of(TaskStill, task), key=lambda fact: fact.at_s, default=None)
    exited = evidence.exit_of(task)
    if still is None or _went_on(evidence, still):
        return None
    if exited is None:
        return still
    until_then = evidence.ended_by_us(exited) and exited.at_s - still.at_s <= TOLD_AGAIN_S
    return still if until_then else None


def _went_on(evidence: Evidence, still: TaskStill) -> bool:
    moves = evidence.while_running.of(TaskMoves, still.task)
    return any(move.at_s > still.at_s for move in moves)


def _stance(evidence: Evidence, task: TaskId, *, since_s: float) -> Stance:
    """Where it was seen last since then: inside of a step, leaving too, or at its own work."""
    looks = [look for look in looks_at(evidence, task) if look.at_s >= since_s]
    return stance_of(looks[-1], None) if looks else Stance.UNKNOWN


def _is_another_elsewhere(evidence: Evidence, *, since_s: float) -> bool:
    """Whether a task that lives is not in the step: then it is that one who is waited for."""
    for task in evidence.tasks:
        exited = evidence.exit_of(task)
        lives = exited is None or evidence.ended_by_us(exited)
        if lives and task.trains and _stance(evidence, task, since_s=since_s) in ELSEWHERE:
            return True
    return False


def _lost_a_peer(evidence: Evidence, failure: TaskExited) -> bool:
    seen = evidence.last_traceback(failure.task)
    if seen is not None:
        return bool(LOST_ERRORS.search(seen.exception) or LOST.search(seen.message))
    return evidence.ended_over(failure, LOST)


def _proof(evidence: Evidence, exited: TaskExited, suffering: list[Fact]) -> Proof:
    victims = listed([f"{fact.task}{_at_step(evidence, fact.task)}" for fact in suffering])
    step = _last_step(evidence, exited.task)
    reached = f" at step {step.step}" if step else ""
    first = min(suffering, key=_since_s)
    stills = [fact for fact in suffering if isinstance(fact, TaskStill)]
    failed = len(stills) < len(suffering)
    loud = max((_loudness(evidence, still) for still in stills), key=GRAVITY.index, default=None)
    losses = filter(None, (evidence.last_traceback(fact.task) for fact in suffering))
    loss = min(losses, key=lambda seen: seen.at_s, default=None)
    return Proof(
        facts=(exited, *suffering[:2], *((step,) if step else ()), *((loss,) if loss else ())),
        culprit=exited.task,
        confidence=Confidence.HIGH,
        severity=None if failed else loud,
        says=f"{exited.task} ended with exit code 0{reached} while {victims} still needed it;"
        f" {_then(first, exited)}",
        do=(
            f"see why {exited.task} was done: its input, its number of steps, its stopping rule",
            "give every task the same number of steps",
        ),
        exit_code=1 if failed else HUNG_CODE,
    )


def _then(first: Fact, exited: TaskExited) -> str:
    later_s = _since_s(first) - exited.at_s
    if isinstance(first, TaskStill) and later_s < 0:
        return f"{first.task} had stood still for {seconds_text(-later_s)} by then"
    how = "failed" if isinstance(first, TaskExited) else "stood still"
    return f"{first.task} {how} {seconds_text(max(0.0, later_s))} later"


def _last_step(evidence: Evidence, task: TaskId | None) -> StepsSeen | None:
    return max(evidence.of(StepsSeen, task), key=lambda fact: fact.at_s, default=None)


def _at_step(evidence: Evidence, task: TaskId | None) -> str:
    step = _last_step(evidence, task)
    return f" (at step {step.step})" if step else ""


def _since_s(fact: Fact) -> float:
    return fact.at_s - fact.still_s if isinstance(fact, TaskStill) else fact.at_s


def _loudness(evidence: Evidence, still: TaskStill) -> Severity:
    since_s = still.at_s - still.still_s
    able_s = able_to_run_s(evidence, still.task, since_s=since_s, until_s=still.at_s)
    return how_loud(evidence, able_s, usual_s=still.usual_s, works=False)


# Open MPI ends all the others then. Who ended with an error of its own is told elsewhere.
WORDS = (
    Words(
        Pattern(
            r"(?:mpirun|mpiexec|prterun|orterun) has exited due to process rank (?P<rank>\d+) "
        ),
        Weight.SYMPTOM,
        says="{who} ended while the others still ran, without taking leave (MPI_Finalize)",
    ),
    Words(
        Pattern(
            r"(?i:\b(?P<culprit>(?:rank|worker|task)[ :]?\d+))\W[^\n]{0,40}"
            r"(?:finished|exited|ended|stopped|left|completed)"
            r" (?:early|before (?:the )?(?:others|other \w+|its peers)|too soon|prematurely)"
        ),
        Weight.SIGN,
        says="{who} ended before the others: {line}",
    ),
)

cause = Cause(
    family="exited-early",
    detect=detect,
    remedy=AskHuman(),
    words=WORDS,
    do=(
        "compare how many steps each one made: the last step in each log",
        "give all the same number of steps, and let all of them leave together",
    ),
)

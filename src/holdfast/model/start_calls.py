"""In which call of its start a task stands, by its stacks: before TensorFlow's first step.

Every server may answer there and still nobody gets on: so the calls tell for whom each one waits.
"""

from dataclasses import dataclass
from enum import StrEnum

from holdfast.model.cluster import TaskId
from holdfast.model.evidence import Evidence
from holdfast.model.facts import AttemptStarted, StartBlocked, TaskStarted
from holdfast.model.findings import Severity
from holdfast.model.loudness import how_loud
from holdfast.model.stack_rounds import looks_at
from holdfast.model.stacks import frames_of, main_thread
from holdfast.model.stance import own_frame
from holdfast.model.watch_facts import StacksSeen, StepsSeen, TaskMoves

# Before a start is given up, those who wait must have done so for this long, or for half of the
# deadline where that is less: a slow start is no standstill.
BLOCKED_S = 60.0
FRESH_S = 90.0  # while somebody stands still and moves in between, looks come sooner than that


class StartCall(StrEnum):
    """What must happen before the call returns."""

    JOINS = "the leader of its cluster must let it in"
    CONNECTS = "every server of its cluster must answer"
    OPENS_SESSION = "every server of its session must answer"
    AWAITS_CHIEF = "a chief must initialize the variables"


_INSIDE = (
    ("TFE_EnableCollectiveOps", StartCall.JOINS),
    ("TFE_ContextSetServerDef", StartCall.CONNECTS),
    ("ExtendSession(", StartCall.OPENS_SESSION),
)
_POLLS = ("wait_for_session", "training/session_manager.py")


@dataclass(frozen=True, slots=True, kw_only=True)
class StandsAtStart:
    """A task that has made no step, and stands inside of a call of its start."""

    task: TaskId
    call: StartCall
    since_s: float  # the first look that found it there
    now_s: float
    overdue: bool  # the deadline of the start has passed, and it has stood there for long
    look: StacksSeen  # the newest

    @property
    def lasts_s(self) -> float:
        return max(0.0, self.now_s - self.since_s)

    @property
    def own_line(self) -> str:
        """`train.py:19`; empty where its stack has nothing of the program."""
        main = main_thread(self.look)
        own = own_frame(main) if main else None
        return str(own) if own else ""

    @property
    def where(self) -> str:
        """`in MonitoredTrainingSession (train.py:19)`: what the program calls there."""
        frames = frames_of(self.look.threads[0])
        own = next((at for at, frame in enumerate(frames) if str(frame) == self.own_line), -1)
        called = frames[own + 1].called if own + 1 < len(frames) else frames[-1].called
        return f"in {called} ({self.own_line or frames[-1]})"


def how_loud_at_start(evidence: Evidence, one: StandsAtStart) -> Severity:
    """As of any standstill, and an error once the deadline of the start has passed."""
    loud = how_loud(evidence, one.lasts_s, usual_s=0.0, works=False)
    return Severity.ERROR if one.overdue else loud


def start_call(look: StacksSeen) -> StartCall | None:
    """Only one in which it waits: whoever computes there gets on."""
    main = main_thread(look)
    if main is None or not main.blocked:
        return None
    frames = frames_of(main)
    for sign, call in _INSIDE:
        if frames[-1].is_tensorflow and sign in frames[-1].code:
            return call
    name, file = _POLLS
    polls = any(frame.name == name and frame.file.endswith(file) for frame in frames)
    return StartCall.AWAITS_CHIEF if polls else None


def standing_at_start(evidence: Evidence) -> tuple[StandsAtStart, ...]:
    """As of now, or as of when the tasks began to be ended."""
    return evidence.once(_standing)


def _standing(evidence: Evidence) -> tuple[StandsAtStart, ...]:
    found = (_stands(evidence, task) for task in evidence.tasks if task.trains)
    return tuple(one for one in found if one is not None)


def _stands(evidence: Evidence, task: TaskId) -> StandsAtStart | None:
    exited = evidence.exit_of(task)
    if exited is not None and not evidence.ended_by_us(exited):
        return None
    looks: list[tuple[StacksSeen, StartCall]] = []
    for look in reversed(looks_at(evidence, task)):
        call = start_call(look)
        if call is None or (looks and look.pid != looks[0][0].pid):
            break
        looks.append((look, call))
    now_s = min(evidence.facts[-1].at_s, evidence.ending_s())
    if not looks or _got_on(evidence, task, looks[0][0], now_s):
        return None
    since_s = looks[-1][0].at_s
    calls = {call for _, call in looks}
    # Whoever polls opens its session anew each time.
    polls = StartCall.AWAITS_CHIEF in calls
    return StandsAtStart(
        task=task,
        call=StartCall.AWAITS_CHIEF if polls else looks[0][1],
        since_s=since_s,
        now_s=now_s,
        overdue=_is_overdue(evidence, task, since_s=since_s, now_s=now_s),
        look=looks[0][0],
    )


def _got_on(evidence: Evidence, task: TaskId, last: StacksSeen, now_s: float) -> bool:
    """Whether it has made a step, or moved since a look that is old: who polls moves, too."""
    if any(fact.source != "checkpoint" and fact.step > 0 for fact in evidence.of(StepsSeen, task)):
        return True
    moved = any(fact.at_s > last.at_s for fact in evidence.of(TaskMoves, task))
    return moved and now_s - last.at_s > FRESH_S


def _is_overdue(evidence: Evidence, task: TaskId, *, since_s: float, now_s: float) -> bool:
    if any(str(task) in (*one.waiting, *one.missing) for one in evidence.of(StartBlocked)):
        return True
    deadline_s = next((fact.start_deadline_s for fact in evidence.of(AttemptStarted)), 0.0)
    began_s = max((fact.at_s for fact in evidence.of(TaskStarted)), default=0.0)
    late = 0 < deadline_s <= now_s - began_s
    return late and now_s - since_s >= min(BLOCKED_S, deadline_s / 2)

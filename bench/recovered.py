"""Whether a job was brought back rightly, by its run directory and by what its tasks wrote down."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.recovery_scenarios import SAVE_EVERY_STEPS, Case
from bench.written_down import WrittenDown

from holdfast.logdir.checkpoints import find_checkpoints
from holdfast.model.facts import AttemptStarted, Fact, TaskStarted
from holdfast.model.recovery_facts import CheckpointChosen, RemedyDecided
from holdfast.recover.history import CHANGES, NEW_ATTEMPT

# A line with some noise is learnt to 0.09; who begins anew begins with 15, at step 40 it is 0.7.
LOSS_MAX, LOSS_RESTORED_MAX = 0.5, 3.0
LOST_SLACK, LOST_SLACK_TOLD = 3, 12  # a hook tells twice a second
BEGUN_LATE_MAX = 5  # another worker may take steps before the first one has read its own
PARTS = ("detect", "decide", "end", "wait", "start", "restore")
NOT_ALWAYS = frozenset({"end"})  # where nobody had to be ended for it


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """All that is judged."""

    exit_code: int | None  # None: it did not end
    facts: Sequence[Fact]
    report: Mapping[str, Any]
    notes: WrittenDown
    checkpoint_dir: Path
    fault_s: float | None = None  # Unix time of the fault; None: when whoever failed wrote last

    def of(self, kind: type[Any]) -> list[Any]:
        return [fact for fact in self.facts if isinstance(fact, kind)]

    @property
    def decided(self) -> list[RemedyDecided]:
        """What was decided, without what only waited."""
        return [fact for fact in self.of(RemedyDecided) if fact.remedy not in {"wait", "go-on"}]

    @property
    def changes(self) -> list[RemedyDecided]:
        return [fact for fact in self.decided if fact.remedy in CHANGES]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What came of a case: one line of the table."""

    scenario: str
    decided: str = ""
    steps_lost: int | None = None
    seconds: Mapping[str, float] = field(default_factory=dict)  # of the first change
    stood_s: float | None = None  # the longest time without a step
    complaints: tuple[str, ...] = ()  # empty: it is right
    took_s: float = 0.0
    lacks: str = ""  # why it was not tried

    @property
    def complaint(self) -> str:
        return "; ".join(self.complaints)


def judge(case: Case, came: Outcome, *, took_s: float) -> Row:
    lost = [_lost(came, decided) for decided in came.changes]
    return Row(
        scenario=case.name,
        decided=", ".join(f"{one.remedy} ({one.cause} {one.culprit})" for one in came.decided),
        steps_lost=max((one.shown for one in lost), default=None),
        seconds=next(_seconds(came), {}),
        stood_s=round(came.notes.stood_s(_fault_s(came, case.task, 1)), 1),
        complaints=tuple(_complaints(case, came)),
        took_s=round(took_s, 1),
    )


def _complaints(case: Case, came: Outcome) -> Iterator[str]:
    if came.exit_code != case.exit_code:
        code = "did not end" if came.exit_code is None else f"exit {came.exit_code}"
        yield f"{code}, not {case.exit_code}"
    yield from _wrong_decisions(case, came)
    yield from _wrong_attempts(came)
    yield from _wrong_beginnings(case, came)
    yield from _two_writers(came)
    yield from _missing_seconds(case, came)
    if case.exit_code == 0:
        yield from _untrained(case, came)


def _wrong_decisions(case: Case, came: Outcome) -> Iterator[str]:
    done = tuple(fact.remedy for fact in came.decided)
    if done not in case.remedies:
        right = " or ".join(", ".join(one) or "nothing" for one in case.remedies)
        yield f"decided {', '.join(done) or 'nothing'}, not {right}"
    # Of a job of two tasks that cannot reach each other, either end of the cut may be named.
    alone = all(len(fact.tasks) <= 2 for fact in came.of(AttemptStarted))
    for fact in came.of(RemedyDecided):
        either = alone and fact.cause == "partition" and case.task in fact.reason
        culprit = case.task if either else str(fact.culprit)
        if not case.told.fits(fact.cause, culprit):
            yield f"{fact.remedy} for {fact.cause or 'no cause'} {fact.culprit}, not {case.told}"


def _wrong_attempts(came: Outcome) -> Iterator[str]:
    """One more than was decided, and all who were to be started again were."""
    relaunches = sum(fact.remedy in NEW_ATTEMPT for fact in came.changes)
    begun = [fact.attempt for fact in came.of(AttemptStarted)]
    if begun != list(range(1, relaunches + 2)):
        yield f"attempts {begun} after {relaunches} relaunches"
    for fact in came.changes:
        again = [
            one
            for one in came.of(TaskStarted)
            if fact.tasks and str(one.task) in fact.tasks and one.at_s > fact.at_s
        ]
        if fact.remedy == "restart" and not again:
            yield f"{', '.join(fact.tasks)} did not come back"


@dataclass(frozen=True, slots=True)
class Lost:
    """Steps that were taken before a fault, and must be taken again."""

    shown: int
    judged: int  # without those that were taken while a save was under way


def _lost(came: Outcome, decided: RemedyDecided) -> Lost:
    if decided.remedy not in NEW_ATTEMPT:
        return Lost(0, 0)
    begins = came.notes.of("begins", attempt=decided.attempt + 1)
    begun = min((line.step for line in begins), default=0)
    fault_s = _fault_s(came, str(decided.culprit), decided.attempt)
    reached = came.notes.reached(decided.attempt, fault_s)
    saving_s = came.notes.unfinished_save_s(decided.attempt, fault_s)
    judged = reached if saving_s is None else came.notes.reached(decided.attempt, saving_s)
    return Lost(reached - begun, judged - begun)


def _fault_s(came: Outcome, task: str, attempt: int) -> float:
    """What comes from outside comes in the first attempt; else at the last word of who failed."""
    if came.fault_s is not None and attempt == 1:
        return came.fault_s
    own = (line.at for line in came.notes.lines if (line.task, line.attempt) == (task, attempt))
    return max(own, default=0.0)


def _wrong_beginnings(case: Case, came: Outcome) -> Iterator[str]:
    """Each new attempt goes on from a checkpoint, with all that it had learnt."""
    allowed = case.intervals_lost_max * SAVE_EVERY_STEPS
    for decided in came.changes:
        if decided.remedy not in NEW_ATTEMPT:
            continue
        attempt, lost = decided.attempt + 1, _lost(came, decided)
        if not came.notes.of("begins", attempt=attempt):
            yield f"attempt {attempt} did not train"
            continue
        if lost.judged > allowed:
            yield f"{lost.judged} steps lost, more than {allowed}"
        first = came.notes.of("step", attempt=attempt)[:1]
        if first and first[0].loss > LOSS_RESTORED_MAX:
            yield f"attempt {attempt} restored nothing: its first loss is {first[0].loss:.2f}"
        chosen = [fact for fact in came.of(CheckpointChosen) if fact.attempt == decided.attempt]
        yield from _wrong_choice(case, came, chosen, attempt)


def _wrong_choice(
    case: Case, came: Outcome, chosen: Sequence[CheckpointChosen], attempt: int
) -> Iterator[str]:
    """What the journal says it begins from is what the program began from."""
    begun = min(line.step for line in came.notes.of("begins", attempt=attempt))
    if len(chosen) != 1:
        yield f"{len(chosen)} checkpoints were chosen for attempt {attempt}"
        return
    number = chosen[0].path.rpartition("-")[2]
    if not number.isdigit() or not 0 <= begun - int(number) <= BEGUN_LATE_MAX:
        yield f"chosen was {chosen[0].path or 'nothing'}, and the program began from step {begun}"
    taken = came.notes.reached(attempt - 1, math.inf) - begun
    slack = LOST_SLACK_TOLD if case.workload == "estimator" else LOST_SLACK
    if abs(chosen[0].steps_lost - taken) > slack:
        yield f"{chosen[0].steps_lost} steps are said to be lost, and {taken} were"
    if not case.passes_over:
        return
    if not chosen[0].passed_over:
        yield "the damaged checkpoint was not passed over"
    said = [str(one.get("checkpoint")) for one in came.report.get("recovery", ())]
    if not any("passed over" in words for words in said):
        yield "the report does not say what was passed over"


def _two_writers(came: Outcome) -> Iterator[str]:
    found = [*came.notes.second_writers(), *came.notes.saves_out_of_turn()]
    if found:
        yield f"a second writer: {found[0]}" + (f" and {len(found) - 1} more" if found[1:] else "")


def _seconds(came: Outcome) -> Iterator[Mapping[str, float]]:
    """Of each change, as the report has them."""
    told = came.report.get("recovery", ())
    decided = came.of(RemedyDecided)
    if len(told) == len(decided):
        yield from (
            one["seconds"]
            for one, fact in zip(told, decided, strict=True)
            if fact.remedy in CHANGES
        )


def _missing_seconds(case: Case, came: Outcome) -> Iterator[str]:
    for seconds, fact in zip(_seconds(came), came.changes, strict=False):
        # Nobody sees the steps of a server.
        shown = PARTS if fact.remedy in NEW_ATTEMPT or case.takes_steps else PARTS[:-1]
        missing = [part for part in shown if part not in {*seconds, *NOT_ALWAYS}]
        negative = [part for part, value in seconds.items() if value < 0]
        if missing or negative:
            yield f"the report has no {', '.join(missing or negative)}"


def _untrained(case: Case, came: Outcome) -> Iterator[str]:
    """It came to its target, with what it should have learnt, and saved that."""
    steps = came.notes.of("step")
    reached = max((line.step for line in (*steps, *came.notes.of("saved"))), default=0)
    loss = max(steps, key=lambda line: line.step).loss if steps else math.inf
    if reached < case.steps:
        yield f"trained to step {reached}, not {case.steps}"
    if loss > LOSS_MAX:
        yield f"a loss of {loss:.2f}, not {LOSS_MAX}"
    found = find_checkpoints(came.checkpoint_dir)
    newest = max((one.number for one in found if not one.damage), default=-1)
    if newest < case.steps:
        yield f"the last checkpoint is of step {newest}"
    if came.report.get("verdict") != "healthy":
        yield f"the report's verdict is {came.report.get('verdict')}"
    restarted = [fact for fact in came.changes if fact.remedy == "restart"]
    if restarted and case.takes_steps:
        pids = {line.pid for line in steps if line.task == case.task}
        if len(pids) <= len(restarted):
            yield f"{case.task} took no step after it was back"

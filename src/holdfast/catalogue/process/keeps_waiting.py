"""A task stands still, or keeps others waiting, and no other cause says why.

## What you see
The job does not get on. Most tasks stand inside of a step, and no log says for whom they wait:
the one that keeps them waiting is often the one that says nothing.

## Why it happens
The task that is named does something else than the next step: it computes, sleeps, reads, waits
for a child process, a lock, a file or a connection. Whether that will end, nobody can tell by
looking: so it is told at once as a notice, which accuses nobody; as a warning when it lasts much
longer than anything this job did before; and as an error when it cannot end by itself, or has
lasted beyond a limit (`--hang-after-s`; else minutes, and many times the longest pause so far).
A start that stands although every server answers is an error at the deadline of the start.

## How to confirm it by hand
`holdfast stacks` shows what every task is doing, line by line; `py-spy dump --nonblocking --pid
PID` does for one. Some looks in a row tell whether it gets on.

## What to do
Look at the line that is named. Give waits a time-out, and work that only one task does a place
where the others need not wait for it.

## When this accusation would be wrong
As a notice it accuses nobody: an evaluation, a save or a download that only one task does looks
the same until it ends, and then the notice is taken back. Time in which the task wanted a core
and got none does not count, nor does time in which we ourselves did not get to look: on a
starved host everything lasts longer, and so do the limits.
"""

from collections.abc import Iterator, Sequence

from holdfast.model.evidence import Evidence
from holdfast.model.facts import AttemptStarted, Fact, StartBlocked
from holdfast.model.findings import HUNG_CODE, Cause, Confidence, Proof, Severity
from holdfast.model.loudness import asked_hang_after_s, how_loud
from holdfast.model.remedies import AskHuman, Remedy, WaitAndSee
from holdfast.model.stance import Stance
from holdfast.model.standing_task import StandingTask
from holdfast.model.standstill import Standstill, able_s, standstills
from holdfast.model.start_calls import standing_at_start
from holdfast.model.watch_facts import StepsSeen
from holdfast.model.words import listed, seconds_text, wait

STUCK_S = 10.0  # a process that is stopped may be let go on
FACTS_MAX = 12
TOLD_MAX = 3  # of those whose start is held up
LOOK_S = 1.0  # between two looks at a task


def detect(evidence: Evidence) -> Iterator[Proof]:
    blocked = next((fact for fact in evidence.of(StartBlocked) if not fact.missing), None)
    if blocked is not None:
        yield _start_held(evidence, blocked)
        return
    found = evidence.once(standstills)
    unseen = [one for one in found if not one.waiting and all(map(_is_unseen, one.ahead))]
    together = unseen if len(unseen) > 1 else []
    if together:
        yield _nobody_was_seen(evidence, together)
    for standstill in (one for one in found if one not in together):
        if not standstill.ahead:
            yield _nobody_ahead(evidence, standstill)
        for one in standstill.ahead:
            yield _kept_by(evidence, standstill, one)


def _is_unseen(one: StandingTask) -> bool:
    """Whether nobody could look at what it does: on a starved host that is so of many."""
    return one.look is None and one.activity is None and one.exited is None


def _nobody_was_seen(evidence: Evidence, unseen: Sequence[Standstill]) -> Proof:
    """One word for all of them: who keeps whom waiting is not known of any."""
    standing = sorted((one for each in unseen for one in each.ahead), key=lambda one: one.task)
    longest = max(unseen, key=lambda each: each.lasts_s)
    return Proof(
        facts=_facts(standing),
        culprit=None,
        confidence=Confidence.LIKELY,
        severity=_severity(evidence, longest, works=True),
        says=f"{listed(one.task for one in standing)} stand still {_lasts(longest)}: nothing is"
        " known of what they do (nobody got to look at them)",
        do=_do(evidence, standing[0], "see where each of them stands: holdfast stacks RUN_DIR"),
        exit_code=HUNG_CODE,
        remedy=_remedy(evidence),
    )


def _start_held(evidence: Evidence, blocked: StartBlocked) -> Proof:
    """The deadline of the start has passed: every server answers, and nobody gets on."""
    stand = [one for one in standing_at_start(evidence) if str(one.task) in blocked.waiting]
    words = [f"{one.task} waits {one.where}, and {one.call}" for one in stand[:TOLD_MAX]]
    return Proof(
        facts=(blocked, *(one.look for one in stand))[:FACTS_MAX],
        culprit=stand[0].task if len(stand) == 1 else None,
        confidence=Confidence.LIKELY,
        severity=Severity.ERROR,
        says=f"every server answers, and the start is not over after"
        f" {seconds_text(blocked.deadline_s)}: {'; '.join(words) or listed(blocked.waiting)}",
        do=(
            "see where each of them stands: holdfast stacks RUN_DIR",
            "if it only needs longer, give the start more time: --start-deadline-s 600",
        ),
        exit_code=HUNG_CODE,
    )


def _kept_by(evidence: Evidence, standstill: Standstill, one: StandingTask) -> Proof:
    others = [each for each in standstill.ahead if each is not one]
    stuck = one.is_stuck and standstill.lasts_s >= STUCK_S
    # Who is left may still say farewell, and until its framework gives up that takes minutes.
    may_last = one.works or one.exited is not None
    severity = Severity.ERROR if stuck else _severity(evidence, standstill, works=may_last)
    alone = one.is_unstepped and not standstill.waiting
    if alone and not stuck and not asked_hang_after_s(evidence):
        severity = Severity.NOTICE  # its steps may take that long
    return Proof(
        facts=_facts((one, *standstill.waiting)),
        culprit=one.task,
        confidence=Confidence.LIKELY if one.stance is Stance.UNKNOWN else Confidence.HIGH,
        severity=severity,
        says=f"{_waiters(evidence, standstill, one)}: {one.words}{_also(others)}",
        do=_do(
            evidence,
            one,
            f"see what it does: holdfast stacks RUN_DIR --task {one.task}",
            *(("give it longer, or less long: --hang-after-s",) if not stuck else ()),
        ),
        exit_code=HUNG_CODE,
        remedy=_remedy(evidence),
    )


def _remedy(evidence: Evidence) -> Remedy:
    """Who has said when it hangs wants it brought back then; else it is for a person to say."""
    return WaitAndSee(waits_s=()) if asked_hang_after_s(evidence) else AskHuman()


def _do(evidence: Evidence, one: StandingTask, *in_run: str) -> tuple[str, ...]:
    """What a run of ours offers; of a job that somebody else has started, its process."""
    if any(evidence.of(AttemptStarted)):
        return in_run
    pids = [process.pid for process in one.activity.processes[:1]] if one.activity else []
    return tuple(f"see what it does: py-spy dump --nonblocking --pid {pid}" for pid in pids)


def _lasts(standstill: Standstill) -> str:
    at_least = "at least " if standstill.at_least else ""
    return f"since {at_least}{seconds_text(standstill.lasts_s)}"


def _waiters(evidence: Evidence, standstill: Standstill, one: StandingTask) -> str:
    lasts = _lasts(standstill)
    if standstill.waiting:
        who = [each.task for each in standstill.waiting]
        return f"{listed(who)} {wait(len(who))} for {one.task} {lasts}"
    steps = [fact.step for fact in evidence.of(StepsSeen, one.task)]
    at = f" after step {steps[-1]}" if steps else ""
    return f"{one.task} stands still {lasts}{at}"


def _also(others: Sequence[StandingTask]) -> str:
    return f" ({listed(each.task for each in others)} not in the step either)" if others else ""


def _nobody_ahead(evidence: Evidence, standstill: Standstill) -> Proof:
    """All wait: the one that began to wait last may have left the others' order."""
    waiting = sorted(standstill.waiting, key=lambda one: one.since_s)
    last = waiting[-1]
    who = listed(one.task for one in waiting)
    others = [task for task in evidence.tasks if task != last.task]
    if len(waiting) == 1:
        whom = f", maybe for {listed(others)}" if others else ""
        says = f"{last.task} stands still {_lasts(standstill)}{whom}: {last.words}"
    else:
        says = (
            f"{who} all wait {_lasts(standstill)}, and nobody is ahead:"
            f" {last.task} {_order(standstill, last.since_s - waiting[0].since_s)}; {last.words}"
        )
    return Proof(
        facts=_facts(tuple(waiting)),
        culprit=None if others else last.task,
        confidence=Confidence.LIKELY,
        severity=_severity(evidence, standstill, works=True),
        says=says,
        do=_do(evidence, last, "see where each of them stands: holdfast stacks RUN_DIR"),
        exit_code=HUNG_CODE,
        remedy=_remedy(evidence),
    )


def _order(standstill: Standstill, later_s: float) -> str:
    """Within the time of a look nobody was first."""
    if standstill.at_least or later_s < LOOK_S:
        return "is one of them"
    return f"was the last to begin, {seconds_text(later_s)} after the first"


def _severity(evidence: Evidence, standstill: Standstill, *, works: bool) -> Severity:
    lasts_s = able_s(evidence, standstill)
    return how_loud(evidence, lasts_s, usual_s=standstill.usual_s, works=works)


def _facts(standing: Sequence[StandingTask]) -> tuple[Fact, ...]:
    return tuple(fact for one in standing for fact in one.facts)[:FACTS_MAX]


cause = Cause(
    family="task-stalled",
    detect=detect,
    live=True,
    remedy=AskHuman(),
    severity=Severity.NOTICE,
    general=True,
    preview=False,
)

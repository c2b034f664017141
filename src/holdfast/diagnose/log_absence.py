"""Culprits that said nothing: no log at all, or one that stops while the others go on."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from holdfast.diagnose.log_claims import ABSENCE_WEIGHT, Claim
from holdfast.diagnose.log_ends import LogEnds
from holdfast.diagnose.log_farewells import left_together
from holdfast.diagnose.log_pauses import paused_together
from holdfast.diagnose.log_records import in_short
from holdfast.model.cluster import TaskId
from holdfast.model.evidence import CHIEF, Evidence
from holdfast.model.facts import AttemptStarted, LastWords, OutputEnded
from holdfast.model.findings import Cause, Confidence, Severity
from holdfast.model.words import listed, seconds_text

SILENT_S = 20.0  # that a trainer is silent before the last word of the others
STEPS_BEHIND = 20  # more than asynchronous workers are apart
NEVER_STARTED, LOG_STOPS, TRAINS_ALONE = "never-started", "log-stops", "spec-without-cluster"


def absences(
    evidence: Evidence, ends: LogEnds, causes: Mapping[str, Cause], *, all_calm: bool
) -> Iterator[Claim]:
    """Where nobody is blamed: who is missing, and who fell silent in the middle of training.

    Where `all_calm`, nobody complains of anything: then even a hint is worth a word.
    """
    yield from _unheard(evidence, ends, causes)
    silent = list(_fallen_silent(evidence, ends, causes))
    yield from silent
    if all_calm and not silent:
        yield from _leader_stops(evidence, ends, causes)
        yield from paused_together(evidence, causes)
        yield from left_together(evidence, ends, causes)


def trains_alone(
    claim: Claim, evidence: Evidence, ends: LogEnds, causes: Mapping[str, Cause]
) -> Claim:
    """A task that others wait for, and whose own log tells of steps: it is not in their cluster."""
    task = claim.culprit
    if claim.name != NEVER_STARTED or task is None or ends.last_step(task) < 0:
        return claim
    words = next(fact for fact in evidence.of(LastWords, task) if fact.lines)
    return replace(
        claim,
        name=TRAINS_ALONE,
        cause=causes[TRAINS_ALONE],
        facts=(*claim.facts, words),
        says=f"{task} trains by itself, up to step {ends.last_step(task)}, while others wait for"
        " it: it was started without their cluster",
        do=(f"set the same TF_CONFIG for {task} as for the others, with its own type and index",),
    )


def _unheard(evidence: Evidence, ends: LogEnds, causes: Mapping[str, Cause]) -> Iterator[Claim]:
    """Members without a log, while most others have one.

    Of a single file, or of a few of many, it only means that nobody gave us the rest.
    """
    heard = {fact.task for fact in evidence.of(OutputEnded) if fact.task}
    told = [start for start in evidence.of(AttemptStarted) if start.tasks]
    members = {TaskId.parse(name) for start in told for name in start.tasks}
    unheard = sorted(members - heard)
    if len(heard) < 2 or not 0 < len(unheard) < len(heard):  # noqa: PLR2004 - one log is no set
        return
    trains = any(ends.last_step(task) >= 0 or ends.finished(task) for task in heard)
    if trains and not any(task.role == "ps" for task in members):
        return  # in lockstep, those who train have all whom they need: a log was not given
    for order, task in enumerate(unheard):
        yield Claim(
            name=NEVER_STARTED,
            cause=causes[NEVER_STARTED],
            weight=ABSENCE_WEIGHT,
            confidence=Confidence.GUESS if trains else Confidence.LIKELY,
            severity=Severity.WARNING if trains else None,
            culprit=task,
            place="",
            facts=(told[0],),
            says=f"{task} is a member of the cluster and left no log, while"
            f" {listed(sorted(heard))} did: it was not started, or its log is elsewhere",
            do=(f"start {task}; if it ran, give its log, too",),
            order=order,
        )


def _leader_stops(
    evidence: Evidence, ends: LogEnds, causes: Mapping[str, Cause]
) -> Iterator[Claim]:
    """A chief that alone tells of steps, and of no end: nobody else would say that it died."""
    stepping = [task for task in evidence.tasks if ends.last_step(task) >= 0]
    if stepping != [CHIEF] or len(evidence.tasks) == 1:
        return
    if ends.finished(CHIEF) or ends.left_in_order(CHIEF):
        return
    words = [fact for fact in evidence.of(LastWords, CHIEF) if fact.lines]
    yield Claim(
        name=LOG_STOPS,
        cause=causes[LOG_STOPS],
        weight=ABSENCE_WEIGHT,
        confidence=Confidence.GUESS,
        severity=Severity.WARNING,
        culprit=CHIEF,
        place="",
        facts=(words[-1],),
        says=f"the log of {CHIEF} ends with step {ends.last_step(CHIEF)} and no word of an end:"
        " it was killed, or it still runs",
    )


def _fallen_silent(
    evidence: Evidence, ends: LogEnds, causes: Mapping[str, Cause]
) -> Iterator[Claim]:
    """A trainer whose log ends with a step, long before the others' last words."""
    trainers = [task for task in evidence.tasks if task.trains or task.role == "rank"]
    last_s = max((ends.ended_s(task) for task in evidence.tasks), default=0.0)
    furthest = max(trainers, key=ends.last_step, default=None)
    for order, task in enumerate(trainers):
        step = ends.last_step(task)
        if step < 0 or ends.finished(task) or furthest is None:
            continue
        silent_s, behind = last_s - ends.ended_s(task), ends.last_step(furthest) - step
        if behind > max(STEPS_BEHIND, step):
            how = f"at step {step}, while {furthest} went on to step {step + behind}"
        elif silent_s > SILENT_S:
            how = f"at step {step}, {seconds_text(silent_s)} before the others' last words"
        else:
            continue
        words = [fact for fact in evidence.of(LastWords, task) if fact.lines]
        last = in_short(words[-1].lines[-1], length_max=120)
        yield Claim(
            name=LOG_STOPS,
            cause=causes[LOG_STOPS],
            weight=ABSENCE_WEIGHT,
            confidence=Confidence.LIKELY,
            culprit=task,
            place="",
            facts=(words[-1],),
            says=f"the log of {task} stops {how}; its last line: {last}",
            order=order,
        )

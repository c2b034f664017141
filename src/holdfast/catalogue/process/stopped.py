"""A task's process was stopped, or is held by a debugger or a frozen cgroup.

## What you see
The job stands still without a word. MultiWorkerMirroredStrategy gives up after some 10 s, and
the others say that the task has crashed; it has not. With parameter servers nobody ever says
anything.

## Why it happens
`kill -STOP`, Ctrl-Z, `docker pause`, a scheduler that suspends a job (`scontrol suspend`), a
debugger or `strace` that was attached and left there.

## How to confirm it by hand
`grep -E 'State|TracerPid' /proc/PID/status` on its host: `T` is stopped, `t` is traced. Of a
cgroup: `freezer.state` is FROZEN, or `cgroup.events` says `frozen 1`.

## What to do
Let it go on: `kill -CONT PID`, detach the debugger, thaw the cgroup. If the others have given
up already, start again from the last checkpoint. Where a job is brought back by itself
(`--on-failure recover`), a stopped task is given some 15 s to go on, then it is ended; one that a
debugger or a frozen cgroup holds is never touched.

## When this accusation would be wrong
A process that is stopped for a moment and goes on harms nobody: it counts only while it lasts, or
when others gave up over it. After it has gone on for a while, what fails then fails for a reason
of its own. A starved host stops nobody: the kernel's letter of who wants a core is R.

What it knows more than `keeps-waiting`: who holds it (a signal, a debugger, a cgroup), so that it
cannot go on by itself.
"""

import signal
from collections.abc import Iterator

from holdfast.model.cluster import TaskId
from holdfast.model.evidence import Evidence, death_signal
from holdfast.model.facts import Fact, ProcessSeen, SignalSent, TaskExited
from holdfast.model.findings import HUNG_CODE, Cause, Confidence, Proof
from holdfast.model.pattern import Pattern
from holdfast.model.remedies import AskHuman, WaitAndSee
from holdfast.model.wording import Weight, Words
from holdfast.model.words import seconds_text

LASTING_S = 2.2  # a pause of two seconds harms nobody
HARM_S = 3.0  # shorter than the shortest time-out by which TensorFlow gives a task up
AFTER_S = 15.0  # what fails later than this after it went on, fails for another reason
WAITS_S = (5.0, 10.0)  # who stops a task to look at it lets it go on within this
STOPPED_BY = frozenset({signal.SIGSTOP, signal.SIGTSTP})


def detect(evidence: Evidence) -> Iterator[Proof]:
    for task in evidence.tasks:
        for spell in _spells(evidence, task):
            if _asked_for(evidence, spell[0]) or _lasted_s(spell) < LASTING_S:
                continue
            gave_up = _gave_up(evidence, task, spell)
            if gave_up or (_is_held(spell[-1]) and not evidence.ended_by_itself(task)):
                yield _proof(spell, gave_up, over=_is_over(evidence, spell[-1]))
                break


def _is_held(seen: ProcessSeen) -> bool:
    return seen.state in {"T", "t"} or bool(seen.frozen)


def _spells(evidence: Evidence, task: TaskId) -> Iterator[list[ProcessSeen]]:
    """Rows of looks that found one process held; each ends with the look that found it going."""
    until_s = evidence.ending_s()
    spell: list[ProcessSeen] = []
    for seen in (fact for fact in evidence.of(ProcessSeen, task) if fact.at_s <= until_s):
        if spell and not (_is_held(seen) and seen.pid == spell[-1].pid):
            yield [*spell, seen]
            spell = []
        if _is_held(seen):
            spell.append(seen)
    if spell:
        yield spell


def _lasted_s(spell: list[ProcessSeen]) -> float:
    held = [seen for seen in spell if _is_held(seen) and seen.pid == spell[0].pid]
    spans = (one.at_s - held[0].at_s + held[0].lasting_s for one in held)
    return max(*spans, *(one.lasting_s for one in held))


def _asked_for(evidence: Evidence, seen: ProcessSeen) -> bool:
    """Whether it was stopped through us, by somebody who knows."""
    sent = evidence.of(SignalSent, seen.task)
    return any(fact.signal in STOPPED_BY and fact.at_s <= seen.at_s for fact in sent)


def _gave_up(evidence: Evidence, task: TaskId, spell: list[ProcessSeen]) -> TaskExited | None:
    """The first that ended over it: another while it was held, or itself when it went on."""
    goes_on = not _is_held(spell[-1])
    if goes_on and _lasted_s(spell) < HARM_S:
        return None
    until_s = spell[-1].at_s + AFTER_S if goes_on else evidence.ending_s()
    ended = [
        failure
        for failure in evidence.failures()
        if spell[0].at_s <= failure.at_s <= until_s
        and (failure.task != task or goes_on)
        and death_signal(failure) != signal.SIGKILL
    ]
    return min(ended, key=lambda failure: failure.at_s, default=None)


def _is_over(evidence: Evidence, last: ProcessSeen) -> bool:
    """Whether it goes on, or has ended by itself: what is stopped cannot do that."""
    return not _is_held(last) or evidence.ended_by_itself(last.task)


def _proof(spell: list[ProcessSeen], gave_up: TaskExited | None, *, over: bool) -> Proof:
    first, last = spell[0], spell[-1]
    what, do = _words(first)
    facts: tuple[Fact, ...] = (first, last) if last is not first else (first,)
    verb = "was" if over else "is"
    lasted = f" for {seconds_text(_lasted_s(spell))}" if gave_up else ""
    end = f", and {gave_up.task} gave up over it" if gave_up else ": it does nothing"
    return Proof(
        facts=(*facts, gave_up) if gave_up else facts,
        culprit=first.task,
        confidence=Confidence.CERTAIN if _is_held(last) else Confidence.HIGH,
        says=f"{first.task} {verb} {what}{lasted}{end} (pid {first.pid} on {first.host})",
        do=(do,) if not over else (f"find out who did it; {do}, should it happen again",),
        exit_code=HUNG_CODE,
        # A debugger and a frozen cgroup are held by somebody who means it: hands off.
        remedy=AskHuman() if _is_meant(last) else None,
    )


def _is_meant(seen: ProcessSeen) -> bool:
    return seen.state == "t" or bool(seen.tracer or seen.frozen)


def _words(seen: ProcessSeen) -> tuple[str, str]:
    """What it is, and what to do about it."""
    if seen.frozen:
        thaw = f"thaw its cgroup {seen.frozen}: docker unpause, scontrol resume, or"
        return (
            f"frozen with its cgroup {seen.frozen}",
            f"{thaw} echo THAWED > freezer.state (cgroup v1), echo 0 > cgroup.freeze (v2)",
        )
    if seen.state == "t":
        who = seen.tracer or "a debugger"
        look = f"grep TracerPid /proc/{seen.pid}/status"
        return f"held by {who}", f"detach {who} from pid {seen.pid} ({look})"
    return "stopped (SIGSTOP or Ctrl-Z)", f"let it go on: kill -CONT {seen.pid}"


WORDS = (
    Words(
        Pattern(r"GOAWAY received.*ping_timeout|Got goaway .*ping_timeout"),
        Weight.SIGN,
        says="{who} stood still so long that its peers closed the connection: {line}",
    ),
    Words(
        Pattern(r"No activity for ClusterCoordinator for \d+ seconds"),
        Weight.SYMPTOM,
        says="a worker does not answer, and the coordinator stands still: {line}",
    ),
)

cause = Cause(
    family="task-stalled",
    detect=detect,
    live=True,
    remedy=WaitAndSee(waits_s=WAITS_S, culprit_stands=True),
    yields_to=frozenset({"stalled-at-start"}),  # there, it is also known what it keeps from us,
    preview=False,
    words=WORDS,
    do=(
        "see who stopped it: ps -o pid,stat,wchan,cmd -p PID, and T is stopped",
        "let it go on with kill -CONT PID",
    ),
)

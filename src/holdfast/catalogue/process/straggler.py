"""One task is much slower than the others, and the whole job goes at its pace.

## What you see
Steps take several times as long as they should, and no line says why. With
MultiWorkerMirroredStrategy all tasks show the same step time, so that no log tells who it is. With
parameter servers the slow task only contributes less.

## Why it happens
Its own code does more in each step than that of the others: an input that is read from far away,
a callback or a summary that only one task writes, a host with slower cores, other work there.

## How to confirm it by hand
`holdfast stacks`, or `py-spy dump --nonblocking --pid PID` on all tasks, some times in a row: the
slow one is in its own code, while the others stand in `quick_execute` and wait for it.

## What to do
Look at what the slow task does between two steps, and at its host. Give all tasks the same work.

## When this accusation would be wrong
A task that does an evaluation of some seconds now and then is not a straggler, and not accused.
A chief may wake more often in each step than the others: where tasks do not wait for each other,
such differences count only when they are large, or new. Main threads that wait for threads of
their own, as for a slow input, are not seen here. It is a warning and never an error: a job at the
pace of its slowest task gets on. A task that is slow because it gets no core is `cpu-starved`.

What it knows more than `keeps-waiting`: how much slower it is, while steps still come.
"""

from collections.abc import Iterator

from holdfast.model.cluster import TaskId
from holdfast.model.evidence import Evidence
from holdfast.model.findings import Cause, Confidence, Proof, Severity
from holdfast.model.pace import slowed
from holdfast.model.pattern import Pattern
from holdfast.model.remedies import AskHuman
from holdfast.model.stack_rounds import looks_at
from holdfast.model.stacks import Doing, Frame, doing, main_thread, user_frame
from holdfast.model.watch_facts import StacksSeen, StepsSeen, TaskSlow
from holdfast.model.wording import Weight, Words
from holdfast.model.words import listed, seconds_text

CLEAR = 5.0  # one word is enough: it is the outcome of many steps
RECENT_S = 90.0  # while it lasts it is told again, but not during an evaluation
# Stacks may show a better reason, such as its input: so they are awaited, if not for ever.
LOOKS_AWAITED, LOOKS_OVER_S, AWAIT_LOOKS_S = 3, 3.0, 12.0
LOOKS_MIN, LOOKS_COUNTED = 5, 12
STEPS_MIN = 2  # slow ones between two looks: one alone may have been an evaluation
MOST = 0.8  # of the looks
OWN = frozenset({Doing.USER, Doing.LIBRARY, Doing.SLEEP, Doing.READING})


def detect(evidence: Evidence) -> Iterator[Proof]:
    until_s = min(evidence.ending_s(), max((fact.at_s for fact in evidence.facts), default=0.0))
    for task in evidence.tasks:
        told = _lasting(evidence, task)
        if told and until_s - told[-1].at_s <= RECENT_S:
            yield _proof(evidence, told, until_s)
        elif (slow := slowed(evidence, task)) and until_s - slow[-1].at_s <= RECENT_S:
            yield from _by_stacks(evidence, task, slow)


def _lasting(evidence: Evidence, task: TaskId) -> list[TaskSlow]:
    """The newest words that it is slow, since it was last as fast as the others."""
    told: list[TaskSlow] = []
    for fact in evidence.of(TaskSlow, task):
        told = [*told, fact] if fact.factor > 1 else []
    return told


def _by_stacks(evidence: Evidence, task: TaskId, slow: tuple[StepsSeen, ...]) -> Iterator[Proof]:
    """Its steps have become slow, and look after look it works while the others wait for it."""
    if not task.trains or slow[-1].step - slow[0].step < STEPS_MIN:
        return
    looks = looks_at(evidence, task)[-LOOKS_COUNTED:]
    places = [frame for look in looks if (frame := _own_place(look))]
    others = [one for one in evidence.tasks if one.trains and one != task]
    enough = len(looks) >= LOOKS_MIN and len(places) >= MOST * len(looks)
    if not enough or not others or not all(_waits(evidence, one, looks) for one in others):
        return
    best_s = min(fact.step_s for fact in evidence.of(StepsSeen, task) if fact.step_s > 0)
    place = places[-1]
    there = sum(frame.name == place.name for frame in places)
    yield Proof(
        facts=(slow[0], slow[-1], looks[0], looks[-1]),
        culprit=task,
        confidence=Confidence.HIGH,
        says=f"{task} keeps {listed(others)} waiting: steps take {seconds_text(slow[-1].step_s)},"
        f" {slow[-1].step_s / best_s:.1f} times as long as at their best, and {len(places)} of"
        f" {len(looks)} looks found it at work of its own, {there} of them in {place.name} at"
        f" {place}",
        do=(
            f"see what {place.name} at {place} does in every step",
            f"see it again: holdfast stacks RUN_DIR --task {task}",
        ),
    )


def _own_place(look: StacksSeen) -> Frame | None:
    main = main_thread(look)
    return user_frame(main) if main is not None and doing(main) in OWN else None


def _waits(evidence: Evidence, task: TaskId, looks: list[StacksSeen]) -> bool:
    """Whether it was in TensorFlow's step nearly each time that the other one was looked at."""
    own = [seen for seen in looks_at(evidence, task) if seen.at_s >= looks[0].at_s - 1]
    mains = [main for seen in own if (main := main_thread(seen)) is not None]
    steps = [main for main in mains if doing(main) is Doing.EXECUTE]
    return len(mains) >= LOOKS_MIN and len(steps) >= MOST * len(mains)


def _proof(evidence: Evidence, told: list[TaskSlow], until_s: float) -> Proof:
    first, last = told[0], told[-1]
    factor = min(fact.factor for fact in told)
    looks = [look for look in looks_at(evidence, last.task) if look.at_s >= first.at_s]
    seen = until_s - first.at_s >= AWAIT_LOOKS_S or (
        len(looks) >= LOOKS_AWAITED and looks[-1].at_s - looks[0].at_s >= LOOKS_OVER_S
    )
    sure = seen and (len(told) > 1 or factor >= CLEAR)
    pid = next(iter(evidence.pids_of(last.task)), None)
    return Proof(
        facts=(first, last) if last is not first else (last,),
        culprit=last.task,
        confidence=Confidence.HIGH if sure else Confidence.LIKELY,
        says=f"{last.task} is {last.factor:.1f} times as slow as the others: it works for"
        f" {seconds_text(last.step_s)} where they take {seconds_text(last.others_s)}",
        do=(
            f"see what it does between two steps: py-spy dump --nonblocking --pid {pid or 'PID'}",
            f"compare the host of {last.task} with the others: top -b -n 1 | head -15",
        ),
    )


# What schedulers of tasks and watchers of ranks say of one that holds up the rest.
WORDS = (
    Words(
        Pattern(
            r"(?i:(?P<culprit>\b(?:rank|worker|host|node|gpu|task|device)\b[ :=#]*\w*\d\w*)"
            r"[^\n]{0,30} (?:straggler|slower than (?:its|the|all|other|expected)))"
        ),
        Weight.SIGN,
        unless=Pattern(r"(?i:no stragglers?|not a straggler)"),
        says="{who} is much slower than the others: {line}",
    ),
    Words(
        Pattern(
            r"Marking (?P<culprit>task \d+ in stage [\d.]+) \(on [^)]*\) as speculatable because"
        ),
        Weight.SIGN,
        says="{who} runs much longer than the others: {line}",
    ),
    Words(
        Pattern(
            r"(?i:(?P<culprit>\b(?:rank|worker|host|node|gpu|task|device)\b[ :=#]*[\w.-]*\d[\w.-]*)"
            r"[^\n]{0,30} (?:is|was|detected as|identified as|marked as|flagged as)"
            r" (?:a |the |an )?(?:straggl|slow[ -](?:rank|worker|node|host)|slowest))"
        ),
        Weight.SIGN,
        says="{who} is much slower than the others: {line}",
    ),
    Words(
        Pattern(r"(?i:\[?(?P<culprit>rank[ :]?\d+)\]?:? (?:is |was )?(?:a )?straggler)"),
        Weight.SIGN,
        unless=Pattern(r"(?i:no stragglers?|not a straggler)"),
        says="{who} is much slower than the others: {line}",
    ),
    Words(
        Pattern(
            r"(?i:stragglers?(?: \w+)?(?: detected| found)?[ :=\[(]+(?P<culprit>(?:rank|worker|host"
            r"|node|gpu|task)s?[ :=#\[]*[\w.-]*\d[\w.-]*))"
        ),
        Weight.SIGN,
        says="{who} is much slower than the others: {line}",
    ),
)

cause = Cause(
    family="straggler",
    detect=detect,
    live=True,
    words=WORDS,
    do=(
        "see what it does: py-spy dump --nonblocking --pid PID, some times in a row",
        "compare its host with the others: top -b -n 1 | head -15; nvidia-smi -q -d CLOCK",
    ),
    remedy=AskHuman(),
    yields_to=frozenset({"cpu-starved", "input-starved"}),
    severity=Severity.WARNING,
)

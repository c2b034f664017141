"""A task waits for a lock that nobody will ever release: a deadlock in its own code.

## What you see
The job stands still, uses no core, and no line says why: TensorFlow's threads answer all the
others, so that nobody misses the task. With MultiWorkerMirroredStrategy everybody else waits in
the next all-reduce, for ever.

## Why it happens
Two threads take the same two locks in a different order; a function takes a lock that its caller
holds already; a thread waits for a queue, an event or another thread's end that never comes.

## How to confirm it by hand
`holdfast stacks`, or `py-spy dump --nonblocking --pid PID`, twice: its main thread stands at the
same `with lock:` or `lock.acquire()` both times, and no other thread of it does anything.

## What to do
Take locks in the same order everywhere; use `threading.RLock` where a caller may hold it; give
`acquire`, `get`, `wait` and `join` a time-out, so that a deadlock becomes an exception.

## When this accusation would be wrong
A main thread that waits for a thread which reads or computes is not deadlocked, and not accused.
Where another thread only sleeps for a while, or the kernel does not say what it waits in, it is
only likely, and no error before it has lasted for minutes; C++ code that calls back into Python
could wake it, too. Locks are told apart by their names in one file. A starved host does not make
threads wait for each other: who wants a core and gets none is not blocked.

What it knows more than `keeps-waiting`: the cycle, or that nobody is left who could wake it.
"""

from collections.abc import Iterator

from holdfast.model.cluster import TaskId
from holdfast.model.core_time import able_to_run_s
from holdfast.model.evidence import Evidence
from holdfast.model.findings import HUNG_CODE, Cause, Confidence, Proof, Severity
from holdfast.model.locks import Held, LockWait, cycle_in, waits_of
from holdfast.model.loudness import how_loud
from holdfast.model.pattern import Pattern
from holdfast.model.remedies import AskHuman
from holdfast.model.stack_rounds import APART_S, looks_at, still_at
from holdfast.model.stacks import Doing, doing, unmoved, user_frame
from holdfast.model.stance import is_in_framework
from holdfast.model.watch_facts import StacksSeen, TaskMoves, TaskStill, ThreadStack
from holdfast.model.wording import Weight, Words
from holdfast.model.words import listed, seconds_text


def detect(evidence: Evidence) -> Iterator[Proof]:
    for task in evidence.tasks:
        rounds = unmoved(looks_at(evidence, task), over_s=APART_S)
        if not rounds:
            continue
        still = still_at(evidence, task, rounds[-1].at_s)
        waits = _lasting_waits(rounds)
        # Threads that wait for each other never go on: that needs no patience.
        moved = any(fact.at_s > rounds[0].at_s for fact in evidence.of(TaskMoves, task))
        if waits and (still or (cycle_in(waits) and not moved)):
            yield from _judged(evidence, task, rounds, still, waits)


def _lasting_waits(rounds: list[StacksSeen]) -> list[LockWait]:
    """Threads that wait at the same place in the first and in the last of these looks."""
    before = {(thread.thread, thread.frames) for thread in rounds[0].threads}
    return [
        wait for wait in waits_of(rounds[-1]) if (wait.thread.thread, wait.thread.frames) in before
    ]


def _judged(
    evidence: Evidence,
    task: TaskId,
    rounds: list[StacksSeen],
    still: TaskStill | None,
    waits: list[LockWait],
) -> Iterator[Proof]:
    first, last = rounds[0], rounds[-1]
    lasting_s = still.still_s if still else last.at_s - first.at_s
    ring = cycle_in(waits)
    main = last.threads[0]
    # A lock of its framework's own is opened by a step that the others have yet to take.
    main_waits = [wait for wait in waits if wait.thread is main and not is_in_framework(main)]
    if not ring and not main_waits:
        return
    others = [thread for thread in last.threads[1:] if not _is_stuck(thread, waits)]
    # Who has never moved may be meant to wait: a server keeps its main thread so.
    has_moved = still is not None and still.usual_s > 0
    if not ring and (not has_moved or any(map(_may_wake, others))):
        return
    known = all(wait.thread.blocked == "waker" for wait in (*(w for w, _ in ring), *main_waits))
    confidence = _confidence(ring=bool(ring), known=known, free=bool(others))
    # What may end by itself is not an error before it has lasted.
    may_end = confidence is Confidence.LIKELY
    loud = _loudness(evidence, last, still, lasting_s) if may_end else None
    yield Proof(
        facts=(first, last, still) if still else (first, last),
        culprit=task,
        confidence=confidence,
        severity=loud,
        says=f"{task} is deadlocked in its own code for {seconds_text(lasting_s)}:"
        f" {_ring_text(ring) if ring else _wait_text(main_waits[0], others)}",
        do=_do(task, ring, main_waits),
        exit_code=HUNG_CODE,
    )


def _loudness(
    evidence: Evidence, last: StacksSeen, still: TaskStill | None, lasting_s: float
) -> Severity:
    now_s, usual_s = (still.at_s, still.usual_s) if still else (last.at_s, 0.0)
    able_s = able_to_run_s(evidence, last.task, since_s=now_s - lasting_s, until_s=now_s)
    return how_loud(evidence, able_s, usual_s=usual_s, works=False)


def _is_stuck(thread: ThreadStack, waits: list[LockWait]) -> bool:
    what = doing(thread)
    lasting = any(wait.thread is thread for wait in waits)
    return what is Doing.SERVER or (what is Doing.LOCK and lasting)


def _may_wake(thread: ThreadStack) -> bool:
    """Whether it is at something that will end: then the main thread only waits for that."""
    return user_frame(thread) is not None and doing(thread) is not Doing.SLEEP


def _confidence(*, ring: bool, known: bool, free: bool) -> Confidence:
    """Two locks may have one name: a ring is only as sure as nobody else could open it."""
    if free or not known:
        return Confidence.LIKELY
    return Confidence.CERTAIN if ring else Confidence.HIGH


def _ring_text(ring: list[tuple[LockWait, Held]]) -> str:
    if len(ring) == 1:
        wait, held = ring[0]
        return f"{_name(wait)} waits at {wait.at} for {held.lock}, which it took itself at {held}"
    return "; ".join(
        f"{_name(wait)} holds {held.lock} ({held}) and waits for {wait.lock} at {wait.at}"
        for wait, held in ring
    )


def _wait_text(wait: LockWait, others: list[ThreadStack]) -> str:
    at = f"{_name(wait)} waits at {wait.at} in {wait.at.name}"
    code = f" ({wait.at.code})" if wait.at.code else ""
    if others:
        busy = listed(_thread_name(thread) for thread in others)
        return f"{at}{code}, unless {busy} will wake it"
    return f"{at}{code}, and no thread of its process is left that could wake it"


def _do(
    task: TaskId, ring: list[tuple[LockWait, Held]], main_waits: list[LockWait]
) -> tuple[str, ...]:
    look = f"see all its threads: holdfast stacks RUN_DIR --task {task}"
    if len(ring) > 1:
        locks, places = listed(held.lock for _, held in ring), listed(held for _, held in ring)
        return (f"take {locks} in the same order at {places}", look)
    if ring:
        wait, held = ring[0]
        edit = f"do not take {held.lock} again at {wait.at} below {held}, or make it an RLock"
        return (edit, look)
    at = main_waits[0].at
    return (f"give what waits at {at} a time-out, and find who should wake it", look)


def _name(wait: LockWait) -> str:
    return _thread_name(wait.thread)


def _thread_name(thread: ThreadStack) -> str:
    return f"thread {thread.name}" if thread.name else f"thread {thread.thread}"


WORDS = (
    Words(
        Pattern(
            r"_DeadlockError|deadlock detected by|Resource deadlock avoided|EDEADLK"
            r"|possible (?:recursive|circular) locking|DeadlockError\b|Deadlock found when trying"
        ),
        says="{who} is in a deadlock: {line}",
    ),
    # In a stack that somebody took: a thread that waits for a lock of another one.
    Words(
        Pattern(r"\bin __lll_lock_wait(?:_private)? \(|^#\d+ +(?:0x\w+ in )?__lll_lock_wait"),
        Weight.SIGN,
        says="a stack of {who} shows a thread that waits for a lock: {line}",
    ),
    # Stacks that somebody took of a process: they tell only where nothing else does.
    Words(
        Pattern(
            r"^#\d+ +(?:0x[0-9a-f]+ in )?(?:pthread_cond_(?:timed)?wait|__?futex\w*_wait\w*"
            r"|sem_wait|do_futex_wait|nsync::nsync_(?:mu|cv|sem)\w*|PyThread_acquire_lock\w*|take_gil"
            r"|__psynch_\w+wait|std::condition_variable::wait)"
            r"|\bThread 0x[0-9a-f]+ \(LWP \d+\)[^\n]* (?:pthread_cond_wait|futex_wait|__lll_lock)"
            r"|__psynch_(?:cv|mutex)wait\b"
        ),
        Weight.SYMPTOM,
        blames_nobody=True,
        says="a stack shows threads that wait for one another or for an event: {line}",
    ),
    Words(
        Pattern(
            r'\((?:idle|active)\): "(?P<culprit>[^"\n]+)"\n\s+(?:wait|acquire|get|join|put'
            r"|_wait_for_tstate_lock|_recv|wait_for) \("
        ),
        Weight.SYMPTOM,
        says="a stack of {who} shows that it waits for another thread: {line}",
    ),
    Words(
        Pattern(
            r"^\s+(?:wait|acquire|get|join|put|_wait_for_tstate_lock) "
            r"\((?:\S*/)?(?:threading|queue|multiprocessing/\w+)\.py:\d+\)"
        ),
        Weight.SYMPTOM,
        blames_nobody=True,
        says="a stack shows a thread that waits for another one: {line}",
    ),
    # gdb's py-bt, which writes the innermost frame first.
    Words(
        Pattern(r"^\s+<built-in method acquire of _thread\.\w+ object"),
        Weight.SYMPTOM,
        blames_nobody=True,
        says="a stack shows a thread that waits for another one: {line}",
    ),
    Words(
        Pattern(
            r"all goroutines are asleep|Found one Java-level deadlock"
            r"|waiting (?:to acquire|for|to lock) [^\n]{0,60}\bheld by\b"
        ),
        says="{who} is in a deadlock: {line}",
    ),
    # The same as Python's own faulthandler writes it: without a comma, unlike a traceback.
    Words(
        Pattern(
            r'^\s+File "\S*/(?:threading|queue|synchronize)\.py", line \d+ in'
            r" (?:wait|acquire|get|join|put|_wait_for_tstate_lock)$"
        ),
        Weight.SYMPTOM,
        blames_nobody=True,
        says="a stack shows a thread that waits for another one: {line}",
    ),
    Words(
        Pattern(r"(?i)\bdeadlock(?:ed)?\b"),
        Weight.SIGN,
        unless=Pattern(r"(?i)avoid|prevent|may |might|could|will cause|possib|potential"),
        says="{who} speaks of a deadlock: {line}",
    ),
)

cause = Cause(
    family="deadlock",
    hears=(Pattern(r'^(?:Thread|Process)\b[^\n]*\((?:idle|active)\): "'),),
    detect=detect,
    live=True,
    remedy=AskHuman(),
    words=WORDS,
    do=(
        "take the stacks of all its threads: py-spy dump --pid PID",
        "take locks in one order everywhere, and with a time limit",
    ),
)

"""A task ended with a Python exception of its own.

## What you see
A traceback in the task's log and exit code 1. The other tasks report a lost peer, often
louder and sometimes first.
With JAX its process may not end: it waits for the others at a last barrier, for minutes.
Told are the exception that started it and the innermost line of the program itself, also where it
stands in the message of another (`in user code:` of a `tf.function`, an op that called Python, a
process of a DataLoader or of `torch.multiprocessing`), in a chain of exceptions or in a group.

## Why it happens
A bug or a wrong input in the training program: TensorFlow and the machine did what they were
asked to.

## How to confirm it by hand
Read the traceback from its last line upwards to the first file of your own.

## What to do
Correct the program. A relaunch would fail in the same way, so none is made.

## When this accusation would be wrong
When the program only logged the exception and ended for another reason. Of a chain, the root is
told, unless the program raised a later one on purpose; both are named, for the root may have been
expected, and what came after it the mistake. If the traceback is
not among the task's last words, and the program itself did not write down that it ended so, or
the exit code is not 1, the finding says `likely`; also of TensorFlow's own exceptions, for what
they complain about may be another task's doing.
A process that lives is accused only if it stands still since the traceback of its whole program,
in what Python calls at its end: whoever logs a traceback and goes on is not.
"""

from collections.abc import Iterator

from holdfast.model.evidence import IGNORED, Evidence
from holdfast.model.facts import LastWords, TaskExited, TracebackSeen
from holdfast.model.findings import Cause, Confidence, Proof
from holdfast.model.leaving import cannot_leave
from holdfast.model.lost_peer import LOST, LOST_ERRORS, is_aftermath, raised_over
from holdfast.model.origin import Origin, origin_of, origin_of_chain
from holdfast.model.pattern import Pattern
from holdfast.model.remedies import AskHuman
from holdfast.model.told_differences import STOPPED, told_differences
from holdfast.model.told_facts import MAIN_THREAD, ExceptionLeft
from holdfast.model.wording import Weight, Words

# The peer is to blame for these, or whoever pressed Ctrl-C.
NOT_ITS_OWN = Pattern(LOST_ERRORS.text + r"|^(?:KeyboardInterrupt|SystemExit)$")
CUT_OFF = Pattern(r"^(?:Connection(?:Reset|Refused|Aborted)|BrokenPipe|EOF)Error$")
NO_TRACEBACK = Pattern(r"^(?:SyntaxError|IndentationError|TabError): ")
OF_TENSORFLOW = Pattern(r"^tensorflow\.")
UNCAUGHT_CODE = 1
THREAD_S_MAX = 60.0  # so long before the end a thread of the program may have failed over the same


def detect(evidence: Evidence) -> Iterator[Proof]:
    for failure in evidence.failures():
        seen = evidence.last_traceback(failure.task)
        if failure.exit_code != UNCAUGHT_CODE and not _chose_its_code(evidence, failure, seen):
            continue
        if seen is None:
            for line in evidence.lines(NO_TRACEBACK, failure.task):
                yield Proof(
                    facts=(line, failure),
                    culprit=failure.task,
                    says=f"the program of {failure.task} is not valid Python: {line.text[:200]}",
                    do=("correct the line that the log names",),
                )
            continue
        if _is_of_others(evidence, seen):
            continue
        if CUT_OFF.search(seen.exception) and _is_not_the_first(evidence, failure):
            continue
        uncaught = failure.exit_code == UNCAUGHT_CODE and _is_last(evidence, seen)
        yield _proof(evidence, seen, (failure,), uncaught=uncaught)
    unseen = list(_of_unseen_ends(evidence))
    yield from unseen
    told = {proof.culprit for proof in unseen}
    stuck = _of_who_cannot_leave(evidence.while_running)
    yield from (proof for proof in stuck if proof.culprit not in told)


def _of_unseen_ends(evidence: Evidence) -> Iterator[Proof]:
    """Nobody saw how a task ended, and its own process has written it down."""
    for task in evidence.tasks:
        exited = evidence.exit_of(task)
        seen = evidence.last_traceback(task) if exited is None or exited.unseen else None
        if seen and evidence.ended_itself_with(seen) and not _is_of_others(evidence, seen):
            yield _proof(evidence, seen, (exited,) if exited else (), uncaught=True)


def _of_who_cannot_leave(evidence: Evidence) -> Iterator[Proof]:
    """Its program is over, and its process waits: for its peers at a last barrier, for a thread.

    Only of the first in trouble: who lost a peer may end with an exception of any name.
    """
    ended = [seen for task in evidence.tasks if (seen := evidence.last_traceback(task))]
    first = min(ended, key=lambda seen: seen.at_s, default=None)
    if first is None or first.task is None:
        return
    before = any(failure.at_s <= first.at_s for failure in evidence.failures())
    stuck = cannot_leave(evidence, first.task, first)
    if stuck is None or before or _is_of_others(evidence, first):
        return
    if LOST.search(first.message):
        return
    yield Proof(
        facts=(first, stuck.look, stuck.still),
        culprit=first.task,
        confidence=Confidence.HIGH,
        says=f"{first.task} ended with {_origin(evidence, first).text}, and its process does not"
        f" end: it waits in {stuck.at.name} at {stuck.at}, which Python calls at its end",
        do=(
            f"correct the program{_place(evidence, first)}",
            "call os._exit(1) after an exception, if its peers cannot come to the end any more",
        ),
    )


def _is_of_others(evidence: Evidence, seen: TracebackSeen) -> bool:
    """Whether it is the peers' doing, or ended over what all of them have found."""
    if seen.exception.endswith(STOPPED) and any(told_differences(evidence)):
        return True
    if NOT_ITS_OWN.search(seen.exception) and not origin_of(seen).is_embedded:
        return True
    root = raised_over(evidence, seen)[0]
    return is_aftermath(evidence, seen) or is_aftermath(evidence, root)


def _proof(
    evidence: Evidence, seen: TracebackSeen, ends: tuple[TaskExited, ...], *, uncaught: bool
) -> Proof:
    origin = _origin(evidence, seen)
    certain = uncaught and (origin.is_embedded or not OF_TENSORFLOW.search(seen.exception))
    thread = _thread_before(evidence, seen)
    return Proof(
        facts=(*((thread,) if thread else ()), *_in_its_log(evidence, seen), seen, *ends),
        culprit=seen.task,
        confidence=Confidence.CERTAIN if certain else Confidence.LIKELY,
        says=f"{seen.task} ended with {origin.text}{_more(seen, thread)}{origin.other}",
        do=(f"correct the program{_place(evidence, seen)}",),
    )


def _in_its_log(evidence: Evidence, seen: TracebackSeen) -> tuple[TracebackSeen, ...]:
    """The same, where people look first; what a program has written down has no place there."""
    if not isinstance(seen, ExceptionLeft):
        return ()
    name = seen.exception.rpartition(".")[2]
    same = (
        one
        for one in evidence.of(TracebackSeen, seen.task)
        if not isinstance(one, ExceptionLeft) and one.exception.rpartition(".")[2] == name
    )
    return tuple(same)[-1:]


def _is_not_the_first(evidence: Evidence, failure: TaskExited) -> bool:
    """Whether another had failed before: it was at the other end, most likely."""
    return any(
        other.task != failure.task and other.at_s < failure.at_s for other in evidence.failures()
    )


def _chose_its_code(evidence: Evidence, failure: TaskExited, seen: TracebackSeen | None) -> bool:
    """Whether a program printed the traceback itself, and then ended with a code of its own."""
    return failure.signal is None and seen is not None and evidence.is_last_word(seen)


def _is_last(evidence: Evidence, seen: TracebackSeen) -> bool:
    if isinstance(seen, ExceptionLeft) and not seen.ended_its_process:
        return False
    return evidence.ended_itself_with(seen) or any(
        line.startswith(seen.exception)
        for words in evidence.of(LastWords, seen.task)
        for line in words.lines
    )


def _origin(evidence: Evidence, seen: TracebackSeen) -> Origin:
    return origin_of_chain(raised_over(evidence, seen))


def _thread_before(evidence: Evidence, seen: TracebackSeen) -> ExceptionLeft | None:
    """The first thread of the same process that had failed shortly before its end."""
    if not isinstance(seen, ExceptionLeft) or not seen.ended_its_process:
        return None
    threads = (
        one
        for one in evidence.of(ExceptionLeft, seen.task)
        if one.pid == seen.pid and not (one.ended_its_process or one.guarded)
    )
    return next((one for one in threads if 0 <= seen.at_s - one.at_s <= THREAD_S_MAX), None)


def _more(seen: TracebackSeen, thread: ExceptionLeft | None) -> str:
    """What only the program itself could tell: the op, the step, the thread."""
    if not isinstance(seen, ExceptionLeft):
        return ""
    of_graph = f" ({seen.in_graph})" if seen.in_graph and seen.in_graph != seen.op else ""
    parts = [
        f", in op {seen.op}{of_graph}" if seen.op else "",
        f", in its thread {seen.thread}" if seen.thread != MAIN_THREAD else "",
        f", at step {seen.step}" if seen.step >= 0 else "",
        f"; its thread {thread.thread} had ended with {origin_of(thread).text}" if thread else "",
    ]
    return "".join(parts)


def _place(evidence: Evidence, seen: TracebackSeen) -> str:
    """The innermost line that is the user's own, of any of its chain; else the innermost."""
    own = (origin_of(one).at for one in raised_over(evidence, seen))
    innermost = seen.frames[-1].partition(" ")[0] if seen.frames else ""
    at = _origin(evidence, seen).at or next(filter(None, own), innermost)
    return f" at {at}" if at else ""


WORDS = (
    # An excerpt may hold nothing else of a traceback.
    Words(
        Pattern(
            r"^(?:NameError|UnboundLocalError|AttributeError|TypeError|KeyError|IndexError"
            r"|ValueError|AssertionError|ZeroDivisionError|NotImplementedError|RecursionError): "
        ),
        Weight.SIGN,
        last=True,
        says="the program ended with {line}",
    ),
    # A parameter server repeats the mistake of the worker whose part of the graph it runs.
    Words(
        Pattern(r"You must feed a value for placeholder tensor"),
        Weight.SIGN,
        blames_named=True,
        says="{who} runs its graph without a value for a placeholder: {line}",
    ),
    Words(
        Pattern(r"Error reported to Coordinator: <class '[\w.]*\.(?P<kind>\w+)'>"),
        Weight.SIGN,
        unless=Pattern(
            r"errors(?:_impl)?\.(?:Unavailable|Aborted|Cancelled|DeadlineExceeded|OutOfRange)Error"
        ),
        blames_named=True,
        says="a thread of {who} ended with {kind}: {line}",
    ),
    Words(
        Pattern(
            r"NotFoundError: [^\s;]+; No such file or directory"
            r"|\w+Error: Cast \w+ to \w+ is not supported"
            r"|Received a label value of -?\d+ which is outside the valid range"
            r"|Error: indices\[.*\] = -?\d+ is not in \[0, \d+\)|Attempted to use a closed Session"
            r"|Error: Trying to backward through the graph a second time"
            r"|Error: one of the variables needed for gradient computation has been modified"
            r"|Error: Expected to have finished reduction in the prior iteration"
            r"|Error: Expected all tensors to be on the same device"
            r"|Error: '[\w.]+' object has no attribute '"
            r"|Error: element \d+ of tensors does not require grad|UnrecognizedFlagError: "
            r"|\.py: error: (?:unrecognized arguments|the following arguments are required"
            r"|argument )"
            r"|(?:Scanner|Parser)Error: |ConfigCompositionException: |MissingMandatoryValue: "
            r"|IllegalFlagValueError: |Error: Nan in summary histogram|pydantic\S*ValidationError: "
        ),
        Weight.SIGN,
        says="the program asked for what cannot be: {line}",
    ),
    Words(
        NO_TRACEBACK,
        Weight.SIGN,
        says="the program is not valid Python: {line}",
    ),
)

cause = Cause(
    family="python-exception-user-code",
    detect=detect,
    hears=(NO_TRACEBACK, Pattern(f"^{IGNORED}")),
    remedy=AskHuman(),
    yields_to=frozenset(
        {
            "bad-tf-config",
            "variable-mismatch",
            "collective-mismatch",
            "disk-full",
            "gpu-error",
            "hardware-error",
            "hdf5-two-writers",
            "missing-library",
            "port-conflict",
            "too-many-open-files",
            "cgroup-out-of-memory",
            "host-out-of-memory",
        }
    ),
    preview=False,
    words=WORDS,
    do=("read the traceback from its last line upwards to the first file of your own; correct it",),
)

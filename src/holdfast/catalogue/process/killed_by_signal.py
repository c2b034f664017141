"""A task was ended by a signal that somebody sent it.

## What you see
The task stops in the middle of a line, with no last words. A shell in between turns the
signal into exit code 128 + N: 137 is SIGKILL, 143 is SIGTERM.

## Why it happens
An operator's `kill`, a scheduler's time limit or preemption, a container that was stopped, a
resource limit. SIGKILL alone says nothing about memory: without a record of the kernel or of
the memory cgroup, it is just a kill.

## How to confirm it by hand
`dmesg -T | grep -i 'killed process'` for the kernel, the scheduler's accounting (`sacct -j`),
`last` and shell histories for people. The kernel does not tell who sent a signal.

## What to do
Find out who sent it, then start again from the last checkpoint.

## When this accusation would be wrong
When a program exits with a code above 128 of its own choice. The finding says `certain` only
of a signal that the system itself reports, `high` when a shell says so in its own words, and
`likely` on the code alone. A task that ended with a traceback is not accused.
"""

import signal
from collections.abc import Iterator

from holdfast.model.evidence import Evidence, death_signal
from holdfast.model.facts import LastWords, ProbeBlind, SignalSent, TaskExited
from holdfast.model.findings import Cause, Confidence, Proof
from holdfast.model.pattern import Pattern
from holdfast.model.remedies import Relaunch
from holdfast.model.signals import CRASHES, signal_name
from holdfast.model.wording import Weight, Words

# A shell's own words about the death of its child: `Killed`, `bash: line 1: 12 Terminated …`.
SHELL_SAYS = Pattern(r"^(?:\S+: line \d+: +\d+ )?(?:Killed|Terminated|Hangup)\b")
# A parameter server never ends by itself: when the training is over, somebody ends it.
SERVES_FOR_EVER = Pattern(r"Terminated\s.*(?:job_name|job-name|role|task_type|job)[= ]ps\b")
SENDERS = {
    signal.SIGXCPU: "the kernel, because a limit on CPU time was reached (ulimit -t)",
    signal.SIGXFSZ: "the kernel, because a limit on file size was reached (ulimit -f)",
    signal.SIGPIPE: "the kernel, because it wrote to a pipe that nobody reads",
    signal.SIGHUP: "a terminal or session that ended, or a person",
    signal.SIGINT: "a person's Ctrl-C, or another process",
    signal.SIGTERM: "a scheduler, a container runtime or a person",
    signal.SIGALRM: "a timer that it set itself and did not handle",
}


def detect(evidence: Evidence) -> Iterator[Proof]:
    for failure in evidence.failures():
        number = death_signal(failure)
        if number is None or number in CRASHES or _spoke_first(evidence, failure):
            continue
        confidence = _confidence(evidence, failure)
        sender = _sender(evidence, failure, number)
        yield Proof(
            facts=(failure,),
            culprit=failure.task,
            confidence=confidence,
            says=f"{_what(failure, number, confidence)}; sent by {sender}",
            do=_do(number, failure),
            exit_code=128 + number,
        )


def _what(failure: TaskExited, number: int, confidence: Confidence) -> str:
    name = signal_name(number)
    if confidence is Confidence.LIKELY:
        return f"{failure.task} ended with exit code {failure.exit_code}, as if by {name}"
    how = "" if failure.signal else f" (a shell reports it as exit code {failure.exit_code})"
    return f"{failure.task} was ended by {name}{how}"


def _spoke_first(evidence: Evidence, failure: TaskExited) -> bool:
    """Who ends with a traceback chose its exit code itself: the killed say nothing."""
    seen = evidence.last_traceback(failure.task)
    return failure.signal is None and seen is not None and evidence.is_last_word(seen)


def _confidence(evidence: Evidence, failure: TaskExited) -> Confidence:
    if failure.signal is not None:
        return Confidence.CERTAIN
    said = (words.lines[-1] for words in evidence.of(LastWords, failure.task))
    return Confidence.HIGH if any(map(SHELL_SAYS.search, said)) else Confidence.LIKELY


def _sender(evidence: Evidence, failure: TaskExited, number: int) -> str:
    sent = [fact for fact in evidence.of(SignalSent, failure.task) if fact.signal == number]
    if sent:
        return f"Holdfast ({sent[0].why})"
    if number in SENDERS:
        return SENDERS[signal.Signals(number)]
    if number != signal.SIGKILL:
        return "another process"
    if any(blind.probe == "kernel log" for blind in evidence.of(ProbeBlind)):
        return "an unknown sender; the kernel's log cannot be read, so memory is not ruled out"
    return "a person, a scheduler or a container runtime: the kernel records no OOM kill of it"


def _do(number: int, failure: TaskExited) -> tuple[str, ...]:
    again = "start again from the last checkpoint"
    if number == signal.SIGXCPU:
        return ("raise the limit on CPU time: ulimit -t unlimited", again)
    return (f"find out who sent {signal_name(number)} to {failure.task} on {failure.host}", again)


cause = Cause(
    family="preempted",
    detect=detect,
    words=(
        Words(
            Pattern(
                r"^(?:\S+: )?(?:line \d+: )? *\d+ (?:Killed|Terminated|Hangup)"
                r"(?:\s+(?P<culprit>\S.*))?$"
            ),
            Weight.SIGN,
            unless=SERVES_FOR_EVER,
            of_speaker=True,
        ),
        Words(
            Pattern(r"^\[\d+\][+-]? +(?:Killed|Terminated|Hangup)\s+(?P<culprit>\S.*)$"),
            Weight.SIGN,
            unless=SERVES_FOR_EVER,
            of_speaker=True,
        ),
        Words(Pattern(r"(?:^|>: ?|\| ?|\d\] )(?:Terminated|Hangup)\s*$"), Weight.SIGN),
        Words(Pattern(r"Forwarding signal (?:1|2|15) to job"), Weight.SIGN),
        Words(
            Pattern(
                r"process (?P<culprit>rank \d+) with PID \d+ on node \S+ exited on signal"
                r" (?:15|1)\b"
            ),
            Weight.SIGN,
        ),
        Words(
            Pattern(
                r"srun: error: (?P<culprit>[\w.-]+: tasks? [\d,\[\]-]+): (?:Killed|Terminated)"
            ),
            Weight.SYMPTOM,
        ),
        Words(Pattern(r"exitcode: -1\) (?P<culprit>local_rank: \d+)"), Weight.SIGN),
        # Whoever fails first has the others ended with SIGTERM.
        Words(Pattern(r"exitcode: -15\) (?P<culprit>local_rank: \d+)"), Weight.SYMPTOM),
        Words(Pattern(r"Signal 15 \(SIGTERM\) received by PID"), Weight.SYMPTOM),
        Words(
            Pattern(
                r"Signal 1 \(SIGHUP\) received by PID"
                r"|<Signals\.SIG(?:TERM|HUP)|KILLED BY SIGNAL: (?:9|15)\b"
                r"|Killed \(signal 9\)|Terminated \(signal 15\)"
                r"|(?:terminated|died|killed) (?:with|by|from) signal:? "
                r"(?:SIG(?:KILL|TERM|HUP)|9\b|15\b)"
                r"|SIGKILL\(-9\)|non-zero (?:exit )?(?:status|code)(?: of)? (?:137|143)\b"
                r"|killed by signal: (?:Terminated|Hangup)"
            ),
            Weight.SIGN,
        ),
        Words(
            Pattern(r"(?i:exit(?:ed with)?(?: with)? (?:status )?code)\W{1,8}(?:137|143)\b"),
            Weight.SIGN,
        ),
        Words(
            Pattern(
                r"Received \S+ death signal, shutting down workers|(?i:bypassing sigterm)"
                r"|SignalException: Process \d+ got signal: (?:1|15)\b"
                r"|(?i:(?:received|caught|got) (?:signal )?(?:SIGTERM|SIGHUP|SIGUSR[12])\b)"
                r"|(?i:(?:received|caught|got) (?:signal|death signal) (?:15|1)\b)"
            ),
            Weight.SIGN,
        ),
    ),
    do=(
        "find out who sent it: sacct -j JOB, dmesg -T | grep -i 'killed process', last",
        "start again from the last checkpoint",
    ),
    remedy=Relaunch(),
    yields_to=frozenset(
        {
            "host-out-of-memory",
            "killed-alone",
            "cgroup-out-of-memory",
            "batch-memory-limit",
            "container-memory-limit",
            "evicted-for-memory",
            "evicted-for-disk",
            "time-limit",
            "allocation-failed",
            "shared-memory-full",
            "gpu-out-of-memory",
            "cancelled",
            "preempted-by-scheduler",
        }
    ),
    preview=False,
)

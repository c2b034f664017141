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
When a wrapper script exits with a code above 128 of its own choice: then the finding says
`high`, not `certain`.
"""

import signal
from collections.abc import Iterator

from holdfast.model.evidence import Evidence, death_signal
from holdfast.model.facts import ProbeBlind, TaskExited
from holdfast.model.findings import Cause, Confidence, Proof
from holdfast.model.remedies import Relaunch
from holdfast.model.signals import CRASHES, signal_name

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
        if number is None or number in CRASHES:
            continue
        direct = failure.signal is not None
        how = "" if direct else f" (a shell reports it as exit code {failure.exit_code})"
        name = signal_name(number)
        yield Proof(
            facts=(failure,),
            culprit=failure.task,
            confidence=Confidence.CERTAIN if direct else Confidence.HIGH,
            says=f"{failure.task} was ended by {name}{how}; sent by {_sender(evidence, number)}",
            do=_do(number, failure),
            exit_code=128 + number,
        )


def _sender(evidence: Evidence, number: int) -> str:
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
    remedy=Relaunch(),
    yields_to=frozenset({"host-out-of-memory", "cgroup-out-of-memory"}),
    preview=False,
)

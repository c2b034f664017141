"""A task crashed in native code: a segmentation fault, an illegal instruction, a failed CHECK.

## What you see
The task ends on SIGSEGV, SIGILL, SIGBUS, SIGFPE or SIGABRT, often without a word. A failed
CHECK prints `Check failed:` with a file and a line before it aborts.

## Why it happens
A custom op or another native library that does not fit this TensorFlow; a bug in one of them;
a processor without the instructions the build was made for (SIGILL); a limit on address space
(`ulimit -v`), which shows as SIGSEGV; damaged memory.

## How to confirm it by hand
Run the task with `PYTHONFAULTHANDLER=1` to get the Python stack at the crash; with
`ulimit -c unlimited` to get a core for gdb.

## What to do
Read the failed CHECK, or the stack of the core. Rebuild custom ops against this TensorFlow.

## When this accusation would be wrong
When somebody sent the signal by hand: kill -SEGV looks the same.
"""

import signal
from collections.abc import Iterator

from holdfast.model.evidence import Evidence, death_signal
from holdfast.model.facts import Fact
from holdfast.model.findings import Cause, Confidence, Proof
from holdfast.model.pattern import Pattern
from holdfast.model.remedies import AskHuman
from holdfast.model.signals import CRASHES, signal_name

CHECK = Pattern(r"Check failed: |^F\d{4} |: F tensorflow/|Fatal Python error: |^terminate called")
LAST_CHECKS = 3


def detect(evidence: Evidence) -> Iterator[Proof]:
    for failure in evidence.failures():
        number = death_signal(failure)
        if number not in CRASHES:
            continue
        said = list(evidence.lines(CHECK, failure.task))[-LAST_CHECKS:]
        facts: tuple[Fact, ...] = (*said, failure)
        direct = failure.signal is not None
        why = f": {said[-1].text[-200:]}" if said else ""
        core = f"; core as in {failure.core_pattern}" if failure.core_dumped else ""
        yield Proof(
            facts=facts,
            culprit=failure.task,
            confidence=Confidence.CERTAIN if direct else Confidence.HIGH,
            says=f"{failure.task} crashed with {signal_name(number)}{core}{why}",
            do=_do(number),
            exit_code=128 + number,
        )


def _do(number: int) -> tuple[str, ...]:
    if number == signal.SIGILL:
        return (
            "compare the processor with the build: grep -o -w -m1 avx2 /proc/cpuinfo",
            "install a TensorFlow built for this processor",
        )
    return (
        "get the Python stack of the crash: run again with --env PYTHONFAULTHANDLER=1",
        "rebuild custom ops and native libraries against this TensorFlow",
    )


cause = Cause(
    family="segfault-illegal-instruction",
    detect=detect,
    hears=(CHECK,),
    remedy=AskHuman(),
    preview=False,
)

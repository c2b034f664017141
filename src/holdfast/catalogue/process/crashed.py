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
from holdfast.model.facts import Fact, TaskExited
from holdfast.model.findings import Cause, Confidence, Proof
from holdfast.model.lost_peer import BETWEEN_TASKS, is_aftermath
from holdfast.model.pattern import Pattern
from holdfast.model.remedies import AskHuman
from holdfast.model.signals import CRASHES, signal_name
from holdfast.model.wording import Weight, Words

CHECK = Pattern(r"Check failed: |^F\d{4} |: F tensorflow/|Fatal Python error: |^terminate called")
LAST_CHECKS = 3
# What was thrown tells more than that nobody caught it.
SAID_ELSEWHERE = Pattern(r"bad_alloc|std::system_error|c10::|gloo::|dmlc::|nccl")


def detect(evidence: Evidence) -> Iterator[Proof]:
    for failure in evidence.failures():
        number = death_signal(failure)
        if number not in CRASHES or _lost_a_peer_before(evidence, failure):
            continue
        said = list(evidence.lines(CHECK, failure.task))[-LAST_CHECKS:]
        if said and BETWEEN_TASKS.search(said[-1].text):
            continue  # JAX ends a process in this way when another one is lost
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


def _lost_a_peer_before(evidence: Evidence, failure: TaskExited) -> bool:
    """Whether it had ended its program for want of a peer, and then died of tidying up."""
    seen = evidence.last_traceback(failure.task)
    return seen is not None and is_aftermath(evidence, seen)


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
    words=(
        Words(
            Pattern(
                r"^(?:\S+: )?(?:line \d+: )? *\d+ (?:Segmentation fault|Bus error|"
                r"Floating point exception)\s+(?:\(core dumped\) )?(?P<culprit>\S.*)$"
            ),
            of_speaker=True,
        ),
        Words(
            Pattern(
                r"^\[\d+\][+-]? +(?:Segmentation fault|Bus error)\s+(?:\(core dumped\) )?"
                r"(?P<culprit>\S.*)$"
            ),
            of_speaker=True,
        ),
        Words(
            Pattern(
                r"(?:^|[:>|\]] ?)Segmentation fault(?:\s*\(core dumped\))?[.\s]*$"
                r"|Fatal Python error: (?:Segmentation fault|Bus error|Floating)"
                r"|Signal: (?:Segmentation fault|Bus error|Floating point)"
                r"|[Cc]aught signal (?:11|7|8) \("
                r"|\b(?:11 \(SIGSEGV\)|7 \(SIGBUS\)|8 \(SIGFPE\))"
                r"|SIG(?:SEGV|BUS|FPE) \(0x\w+\) at pc"
                r"|\*\*\* Received signal (?:11|7|8) \*"
                r"|\*\*\* SIG(?:SEGV|BUS|FPE) |<Signals\.SIG(?:SEGV|BUS|FPE)"
                r"|(?:exited|died|terminated|killed) (?:with|on|by|due to) signal:? (?:11|4|7|8"
                r"|SIGSEGV|SIGILL|SIGBUS|SIGFPE)\b"
                r"|Windows fatal exception: |fatal error has been detected by the Java Runtime"
                r"|(?:Bus error|Floating point exception) \(core dumped\)|0xC0000005"
                r"|exitcode: -11\b"
                r"|Segmentation fault \(signal 11\)|killed by signal: Segmentation fault"
            ),
            unless=Pattern(r"srun: error: |exited on signal "),
        ),
        Words(
            Pattern(
                r"srun: error: (?P<culprit>[\w.-]+: tasks? [\d,\[\]-]+): "
                r"(?:Segmentation fault|Bus error|Floating point exception)"
            ),
            Weight.SIGN,
        ),
        Words(
            Pattern(
                r"process (?P<culprit>rank \d+) with PID \d+ on node \S+ exited on signal"
                r" (?:11|7|8)\b"
            ),
            Weight.SIGN,
        ),
        Words(Pattern(r"exitcode: -(?:11|7|8)\) (?P<culprit>local_rank: \d+)"), Weight.SIGN),
        Words(
            Pattern(
                r"(?:(?P<host>[\w.-]+) kernel: (?:\[[^\]]*\] )?(?:traps: )?)?"
                r"(?P<culprit>[^ \[]+)\[\d+\](?:: segfault at"
                r"| general protection| trap divide error)"
            )
        ),
        # A debugger's words, and the frame below them: in which library it was.
        Words(
            Pattern(
                r"received signal SIG(?:SEGV|BUS|FPE)\b|[Tt]erminated with signal"
                r" (?:SIG(?:SEGV|BUS|FPE)|11|7|8)\b"
            )
        ),
        Words(
            Pattern(
                r"received signal SIG(?:SEGV|BUS|FPE)\b[^\n]*\n"
                r"(?:0x[0-9a-f]+ in )?[^\n]* from \S*/(?P<culprit>lib[\w.+-]+)"
            )
        ),
        Words(
            Pattern(
                r"double free or corruption|free\(\): (?:invalid|double|corrupted)|malloc\(\): \w+ "
                r"|corrupted (?:size vs|double-linked)|munmap_chunk\(\): invalid"
                r"|realloc\(\): invalid|stack smashing detected|malloc_consolidate\(\): "
                r"|pure virtual method called|heap-buffer-overflow|invalid next size"
            )
        ),
        Words(Pattern(r"terminate called after throwing"), Weight.SYMPTOM, unless=SAID_ELSEWHERE),
        Words(
            Pattern(r"(?i:exit(?:ed with)?(?: with)? (?:status )?code)\W{1,3}(?:139|135|136)\b"),
            Weight.SIGN,
        ),
        Words(
            Pattern(
                r"srun: error: (?P<culprit>[\w.-]+: tasks? [\d,\[\]-]+): Aborted"
                r"|(?:^|[:>|\]] ?)Aborted(?:\s*\(core dumped\))?\s*$|Fatal Python error: Aborted"
                r"|exited on signal 6|\b6 \(SIGABRT\)|<Signals\.SIGABRT|exitcode: -6\)"
            ),
            Weight.SYMPTOM,
        ),
        Words(
            Pattern(
                r"^(?:\S+: )?(?:line \d+: )? *\d+ Aborted\s+(?:\(core dumped\) )?(?P<culprit>\S.*)$"
            ),
            Weight.SYMPTOM,
            of_speaker=True,
        ),
    ),
    do=(
        "get the Python stack of the crash: run again with PYTHONFAULTHANDLER=1",
        "rebuild custom ops and native libraries against this TensorFlow",
    ),
    remedy=AskHuman(),
    yields_to=frozenset(
        {
            "allocation-failed",
            "batch-memory-limit",
            "container-memory-limit",
            "failed-check",
            "gpu-out-of-memory",
            "illegal-instruction",
            "library-mismatch",
            "message-too-large",
            "shared-memory-full",
            "thread-limit",
        }
    ),
    preview=False,
)

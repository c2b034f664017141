"""A task ended with exit code 0, and a process that it had started failed.

## What you see
The job is a success by its exit code, and less was done than was asked for: a shard without rows, a
checkpoint that is missing. In the log of the task stands `Process SpawnProcess-2:` above a
traceback, or a shell's `line 12: 4960 Segmentation fault`.

## Why it happens
A launcher that starts children and does not look at how they end: `Process.join()` and
`Popen.wait()` raise nothing when a child fails. A shell script goes on after a command that failed,
and its exit code is that of its last command.

## How to confirm it by hand
Read the traceback. Print `child.exitcode` of each `Process` after its `join()`; run a script with
`bash -ex`.

## What to do
In Python: `sys.exit(max(abs(child.exitcode) for child in children))`, or start children with
`subprocess.run(..., check=True)` or a `ProcessPoolExecutor`, which raise. In a shell script:
`set -e -o pipefail`, and `wait PID` for each process in the background.
Nothing is done about it, and the exit code stays 0: only the program knows whether it can do
without that child.

## When this accusation would be wrong
When the program expects that child to fail, such as a script that tries one command and then
another. Not told are children that were ended with SIGTERM or SIGKILL by whoever, that ended with a
code of their own and no traceback, or that lost a connection, as many do at the end of a good run;
nor exceptions that a program caught and printed. Of SIGKILL only what the kernel killed for want
of memory is known to be a failure. A child that crashes without a word is seen only while nobody
has asked how it ended, and the task goes on for some seconds.
"""

from collections.abc import Iterator, Sequence
from itertools import islice

from holdfast.model.child_ends import (
    NAMED,
    exception_sentence,
    is_its_own,
    is_of_child,
    names_above,
    outlived_sentence,
)
from holdfast.model.cluster import TaskId
from holdfast.model.evidence import Evidence
from holdfast.model.facts import Fact, KernelKilledForMemory, LogLine, TracebackSeen
from holdfast.model.findings import Cause, Confidence, Proof, Severity
from holdfast.model.left_words import is_same
from holdfast.model.lost_peer import is_aftermath
from holdfast.model.origin import chains_of, origin_of
from holdfast.model.pattern import Pattern
from holdfast.model.remedies import AskHuman
from holdfast.model.signals import CRASHES, signal_name
from holdfast.model.told_facts import ExceptionLeft
from holdfast.model.unreadable_tf_config import WRITE_AS_JSON, is_unreadable_tf_config
from holdfast.model.watch_facts import ChildDied, KernelSaid
from holdfast.model.words import bytes_text

FACTS_MAX = 8
# A shell's words: those of bash with the line and the process, those of others alone on a line.
BY_BASH = Pattern(
    r"^[^:]{1,200}: line \d{1,6}: +(?P<pid>\d{1,10}) (?P<how>Segmentation fault|Bus error"
    r"|Illegal instruction|Floating point exception|Aborted) +(?:\(core dumped\) +)?\S"
)
BY_SHELL = Pattern(
    r"^(?P<how>Segmentation fault|Bus error|Illegal instruction|Floating point exception)"
    r"(?: \(core dumped\))?$"
)
BY_PYTHON = Pattern(
    r"^Fatal Python error: (?P<how>Segmentation fault|Bus error|Illegal instruction"
    r"|Floating point exception|Aborted)$"
)
SIGNALS = {
    "Segmentation fault": "SIGSEGV",
    "Bus error": "SIGBUS",
    "Illegal instruction": "SIGILL",
    "Floating point exception": "SIGFPE",
    "Aborted": "SIGABRT",
}
End = tuple[Fact, str]  # what proves it, and how that child ended


def detect(evidence: Evidence) -> Iterator[Proof]:
    for task in evidence.tasks:
        exited = evidence.exit_of(task)
        if exited is None or exited.exit_code != 0 or evidence.ended_by_us(exited):
            continue
        seen = [*_raised(evidence, task), *_killed(evidence, task)]
        told = [] if seen else list(_by_words(evidence, task))
        if ends := seen or told:
            yield Proof(
                facts=(*(fact for fact, _ in ends[:FACTS_MAX]), exited),
                culprit=task,
                confidence=Confidence.CERTAIN if seen else Confidence.LIKELY,
                says=outlived_sentence(f"{task} ended with exit code 0", [how for _, how in ends]),
                do=(*_places(ends), *DO),
            )


def _raised(evidence: Evidence, task: TaskId) -> Iterator[End]:
    """Python ended with an exception, and wrote it into the log of the task.

    What a program reads from a child itself, it has dealt with.
    """
    left = [
        one
        for one in evidence.of(ExceptionLeft, task)
        if one.ended_its_process and one.pid not in evidence.pids_of(task)
    ]
    lines = list(evidence.of(LogLine, task))
    seen = sorted(evidence.of(TracebackSeen, task), key=lambda one: (one.stream, one.offset))
    chains = list(chains_of(seen))
    for chain, name in zip(chains, names_above(chains, lines), strict=True):
        pids = [one.pid for one in left if is_same(one, chain[-1])]
        proven = pids or any(map(is_of_child, chain))
        if proven and is_its_own(chain) and not any(is_aftermath(evidence, one) for one in chain):
            who = name or (f"process {pids[0]}" if pids else "")
            yield chain[-1], exception_sentence(who, chain)


def _killed(evidence: Evidence, task: TaskId) -> Iterator[End]:
    """The kernel killed it for want of memory, or it crashed: by the kernel's word, or a shell's.

    Nobody sends such signals to end a process that is well.
    """
    own = evidence.pids_of(task)
    ends: dict[int, End] = {}
    for kill in evidence.of(KernelKilledForMemory, task):
        size = bytes_text(kill.rss_bytes)
        how = f"{kill.process} ({kill.pid}) was killed by the kernel for want of memory, at {size}"
        ends[kill.pid] = (kill, how)
    for died in evidence.of(ChildDied, task):
        if died.signal in CRASHES:
            how = f"{died.process} ({died.pid}) died of {signal_name(died.signal)}"
            ends.setdefault(died.pid, (died, how))
    for said in evidence.of(KernelSaid, task):
        # Of a program that catches the signal, the kernel says nothing.
        if said.about == "segfault":
            how = f"{said.process} ({said.pid}) crashed, by the kernel's log"
            ends.setdefault(said.pid, (said, how))
    for line in evidence.lines(BY_BASH, task):
        found = BY_BASH.search(line.text)
        how = f"process {found.group('pid')} died of {_signal(found.group('how'))}"
        ends.setdefault(int(found.group("pid")), (line, how))
    yield from (end for pid, end in ends.items() if pid not in own)


def _by_words(evidence: Evidence, task: TaskId) -> Iterator[End]:
    """Where nothing better is known. Both may speak of one and the same child."""
    for words in (BY_PYTHON, BY_SHELL):
        lines = list(evidence.lines(words, task))
        for line in lines:
            yield line, f"it died of {_signal(words.search(line.text).group('how'))}"
        if lines:
            return


def _places(ends: Sequence[End]) -> Iterator[str]:
    """Where to look first: the innermost line of the program, of the first that tells one."""
    told = (origin_of(fact).at for fact, _ in ends if isinstance(fact, TracebackSeen))
    yield from (f"correct the program at {at}" for at in islice(filter(None, told), 1))
    if any(isinstance(fact, TracebackSeen) and is_unreadable_tf_config(fact) for fact, _ in ends):
        yield WRITE_AS_JSON


def _signal(how: str) -> str:
    return SIGNALS[how]


DO = (
    "read what the child wrote, in the log of the task",
    "let the launcher look at how its children end (child.exitcode, set -e), and fail if one fails",
)

cause = Cause(
    family="python-exception-user-code",
    detect=detect,
    hears=(NAMED, BY_BASH, BY_SHELL, BY_PYTHON),
    remedy=AskHuman(),
    do=DO,
    severity=Severity.WARNING,
    leaves_doubt=True,
)

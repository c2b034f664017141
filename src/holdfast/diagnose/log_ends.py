"""How each log ends: in the middle of training, with a word of success, or with an error."""

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

from holdfast.model.cluster import TaskId
from holdfast.model.evidence import IGNORED, Evidence
from holdfast.model.facts import LastWords, LogLine, OutputEnded, TracebackSeen
from holdfast.model.log_prefix import is_labelled, said_in
from holdfast.model.named_tasks import tasks_in
from holdfast.model.pattern import Pattern
from holdfast.model.steps import steps_told

FINISHED = Pattern(
    r"\bDONE\b|Loss for final step|(?i)\b(?:training|job|run|script)\b[^.]{0,20}\b"
    r"(?:done|completed?|finished|ended successfully)\b|\bfinished training\b"
    r"|\bsuccessfully (?:finished|completed)\b"
)
# What launchers say when one of theirs has ended.
LAUNCHER = Pattern(
    r"torch\.distributed\.elastic|failed \(exitcode: |ChildFailedError|^\S+ FAILED$|^[-=*]{5,}$"
    r"|^Failures:|^Root Cause|^(?:srun|slurmstepd|mpirun|mpiexec)\b|Primary job +terminated"
)
# What tears down an interpreter, or what a person's Ctrl-C leaves: nothing new is said by it.
TEARDOWN = Pattern(
    r"^\s*$|^\s+\S|^/job:[a-z]|Python interpreter state is not initialized|^Traceback \(most"
    r"|KeyboardInterrupt|^\^C|Exception ignored in|resource_tracker"
    rf"|{LAUNCHER.text}"
)
ORDERLY = Pattern(r"Python interpreter state is not initialized")
# What tasks write while a cluster comes up: whoever says it still waits.
STARTING = Pattern(
    r"coordination_service|Coordination agent|Scanning workers for devices|Started server with"
    r"|Waiting for model to be ready|Waiting for \d+/\d+ tasks|Start master session"
    r"|MLIR V1 optimization pass"
)
CAME = Pattern(r"has connected to coordination service")


class _Tail(NamedTuple):
    """One of the last lines of a file."""

    number: int
    text: str
    writer: TaskId | None  # whom its prefix names
    is_progress: bool


class LogEnds:
    """What stands at the end of each file, and after each line of it."""

    def __init__(self, evidence: Evidence) -> None:
        self._evidence = evidence

    def goes_on_after(self, fact: LogLine | TracebackSeen) -> bool:
        """Whether training went on in the same file: what was survived did not end it."""
        return any(tail.is_progress and not _is_part(tail.text, fact) for tail in self._below(fact))

    def finished(self, task: TaskId | None, source: str = "") -> bool:
        """Whether somebody's last words tell of success, and no traceback contradicts them.

        Without a task, the file is meant.
        """
        fell = any(
            (seen.task == task if task else seen.source == source) and not self.ignored(seen)
            for seen in self._evidence.of(TracebackSeen)
        )
        words = self._last_words(task, source)
        return not fell and any(FINISHED.search(line) for fact in words for line in fact.lines)

    def last_step(self, task: TaskId | None, source: str = "") -> int:
        """The last training step that its last words tell; -1 where they tell none.

        Without a task, the file is meant.
        """
        words = self._last_words(task, source)
        return max((_step("\n".join(fact.lines)) for fact in words), default=-1)

    def left_in_order(self, task: TaskId) -> bool:
        """Whether its interpreter came to its own end, without an error of its own."""
        if any(self._evidence.of(TracebackSeen, task)):
            return False
        words = self._last_words(task, "")
        return any(ORDERLY.search(line) for fact in words for line in fact.lines)

    def still_waits(
        self, fact: LogLine | TracebackSeen, awaited: TaskId | None, same: Sequence[Pattern]
    ) -> bool:
        """Whether nothing follows but waiting in the same words, and being ended."""
        quiet = (TEARDOWN, STARTING, *same)
        return all(
            any(pattern.search(line) for pattern in quiet)
            and not (CAME.search(line) and awaited in tasks_in(line))
            for line in self.lines_after(fact)
        )

    def lines_after(self, fact: LogLine | TracebackSeen) -> Iterator[str]:
        """The last lines of its file, those that stand below it and are of nobody else."""
        return (tail.text for tail in self._below(fact))

    def _below(self, fact: LogLine | TracebackSeen) -> Iterator["_Tail"]:
        last = fact.line + (fact.text.count("\n") if isinstance(fact, LogLine) else 0)
        for tail in self._tails.get(fact.source, ()):
            if tail.number > last and not _is_another(tail.writer, fact.task):
                yield tail

    @cached_property
    def _tails(self) -> dict[str, list["_Tail"]]:
        tails: dict[str, list[_Tail]] = {}
        for words in self._evidence.of(LastWords):
            first = self._lines_total.get(words.source, len(words.lines)) - len(words.lines) + 1
            labelled = is_labelled(words.lines)
            tails[words.source] = [
                _Tail(number, line, said_in(line, labelled=labelled).task, is_progress(line))
                for number, line in enumerate(words.lines, first)
            ]
        return tails

    def ignored(self, seen: TracebackSeen) -> bool:
        """Whether Python itself says that this traceback ends nobody."""
        return (seen.source, seen.line) in self._ignored

    def ended_s(self, task: TaskId) -> float:
        """When a task was last heard, by the clock of all."""
        return max((fact.at_s for fact in self._evidence.of(OutputEnded, task)), default=0.0)

    def _last_words(self, task: TaskId | None, source: str) -> Iterator[LastWords]:
        for words in self._evidence.of(LastWords):
            if words.task == task if task else words.source == source:
                yield words

    @cached_property
    def _lines_total(self) -> dict[str, int]:
        return {fact.source: fact.lines_total for fact in self._evidence.of(OutputEnded)}

    @cached_property
    def _ignored(self) -> set[tuple[str, int]]:
        return {
            (line.source, line.line + 1)
            for line in self._evidence.of(LogLine)
            if line.text.startswith(IGNORED)
        }


def _is_another(writer: TaskId | None, task: TaskId | None) -> bool:
    """Whether a line's prefix names a sibling: the third rank, where this is the second."""
    if writer is None or task is None or writer == task:
        return False
    return writer.role == task.role


def _is_part(line: str, fact: LogLine | TracebackSeen) -> bool:
    """Whether it belongs to a traceback itself: `ValueError: batch 1 has no labels`."""
    if not isinstance(fact, TracebackSeen):
        return False
    # Not the lines below the first: what follows a message may have been taken for more of it.
    raised = f"{fact.exception}: {fact.message}".partition("\n")[0].strip()
    said = line.strip()
    return said.endswith(raised) or any(frame.endswith(f": {said}") for frame in fact.frames)


def is_progress(line: str) -> bool:
    """Whether it tells of a step: what a launcher says of the end may stand behind a bar."""
    return _step(line) >= 0 and not LAUNCHER.search(line)


def _step(text: str) -> int:
    return steps_told(text.encode() + b"\n").step

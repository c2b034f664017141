"""Shows a run while it lives: follows its logs and its journal, and never holds anybody up."""

import json
import os
from collections import deque
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from holdfast.logdir.journal import follow_journal
from holdfast.logdir.run_dir import RunDir, log_name
from holdfast.model.cluster import TaskId
from holdfast.model.errors import MissingInput
from holdfast.model.facts import (
    AttemptEnded,
    AttemptStarted,
    Fact,
    ProbeBlind,
    StartWaits,
    TaskStarted,
)
from holdfast.model.finding_facts import FindingTakenBack
from holdfast.model.line_choice import BY_DEFAULT, ChosenLines, LineChoice
from holdfast.model.recovery_facts import RemedyDecided
from holdfast.model.watch_facts import TakenOver, TraceTaken
from holdfast.model.words import seconds_text
from holdfast.views.fact_text import fact_text
from holdfast.views.finding_lines import taken_back_lines, told_lines
from holdfast.views.folded_lines import FoldedLines
from holdfast.views.lines import Hides, LineAssembler
from holdfast.views.live import Screen, status_text
from holdfast.views.printed_steps import PrintedSteps
from holdfast.views.recovery_lines import is_to_be_done, recovery_line
from holdfast.views.sanitise import plain
from holdfast.views.task_marks import TaskMarks

CHUNK_BYTES = 32 * 1024
BEHIND_BYTES_MAX = 1 << 20  # a terminal: nobody reads that fast
PIPE_BEHIND_BYTES_MAX = 64 << 20  # a pipe: somebody may want it all
SKIP_CHUNK_BYTES = 1 << 20
COUNT_BYTES_A_STEP = 32 << 20
FINDINGS_BYTES_MAX = 1 << 20
SAY_SKIPPED_EVERY_S = 2.0
JOIN_BYTES = 4 * 1024  # of each log's end, for who joins a run that goes on


@dataclass(slots=True)
class Followed:
    task: TaskId
    stream: str
    fd: int
    offset: int = 0
    attempt: int = 1
    lines: LineAssembler = field(default_factory=LineAssembler)
    waiting: deque[str] = field(default_factory=deque)  # read, and not yet taken by the screen
    passed: list[tuple[int, int]] = field(default_factory=list)  # skipped, not yet counted
    inside: bool = False  # of a line whose beginning was passed over
    skipped: int = 0
    said_s: float = float("-inf")

    @property
    def behind(self) -> int:
        return max(0, os.fstat(self.fd).st_size - self.offset)


class Watch:
    def __init__(
        self,
        run_dir: RunDir,
        tasks: Sequence[TaskId],
        screen: Screen,
        *,
        shown: Collection[TaskId],
        is_tty: bool,
        joins: bool = False,
        choice: LineChoice = BY_DEFAULT,
    ) -> None:
        self._run_dir = run_dir
        self._screen = screen
        self._shown = tuple(task for task in tasks if task in shown)
        self._is_tty = is_tty
        self._behind_max = BEHIND_BYTES_MAX if is_tty else PIPE_BEHIND_BYTES_MAX
        self._journal = follow_journal(run_dir)
        self._marks = TaskMarks(tasks)
        self._steps = PrintedSteps()
        self._choice = choice
        self._folded = FoldedLines(choice)
        self._attempt = 1
        self._followed: dict[tuple[TaskId, str, int], Followed] = {}
        self.decided: RemedyDecided | None = None  # what is waited for, or asked
        self._own: deque[str] = deque()  # words of ours, not yet taken by the screen
        self._findings_read = 0
        self._joins = joins  # a run that goes on: its past is in the logs, not here
        self._history = joins  # until the journal was read once
        self.ended: AttemptEnded | None = None
        self.is_behind = False  # the last step left something for the next

    def step(self, at_s: float, *, width: int) -> bool:
        """Show what is new; whether there was anything."""
        self.is_behind = False
        joined = self._history
        fresh = self._journal.fresh()
        words = self._follow_journal(fresh, at_s)
        if fresh and self.ended is None:
            # Before what is said of them: a finding may be taken back at once.
            self._own.extend(told_lines(self._fresh_findings(still_true_only=joined)))
        self._own.extend(words)
        self._open_logs()
        busy = self._show_own() or bool(fresh)
        for followed in self._followed.values():
            busy = self._follow(followed, at_s) or busy
        if folded := self._folded.told(at_s, width=width):
            self.say(folded)
        if self._is_tty:
            self._show_status(at_s, width)
        return busy

    def _show_status(self, at_s: float, width: int) -> None:
        self._screen.resize(width)
        self._look_for_steps(at_s)
        words = "Ctrl-C to stop"
        if self.decided:
            words = f"waiting to {self.decided.would or self.decided.remedy} · {words}"
        elif self._marks.are_over:
            words = "reading the rest of the output"
        news = "" if self._marks.are_over else self._marks.news(at_s)
        status = status_text(
            self._marks.shown(), elapsed_s=at_s, width=width - 1, words=words, news=news
        )
        self._screen.set_status(status)

    def _look_for_steps(self, at_s: float) -> None:
        """The newest steps stand at the ends of the logs, however far behind what is shown is."""
        streams: dict[TaskId, dict[str, int]] = {}
        for (task, stream, attempt), followed in self._followed.items():
            if attempt == self._attempt:
                streams.setdefault(task, {})[stream] = followed.fd
        for task, step in self._steps.look(streams, at_s):
            self._marks.printed(task, step)

    def say(self, line: str) -> None:
        """A line of our own, as soon as the screen takes it: nobody waits for that."""
        self._own.append(line)
        self._show_own()

    def drain(self, at_s: float, *, width: int) -> int:
        """After the end: how much is left to show, in lines and bytes that nobody took yet."""
        self.step(at_s, width=width)
        for followed in self._followed.values():
            if not followed.behind:
                followed.waiting.extend(followed.lines.end(at_s=at_s))
                self._say_skipped(followed, float("inf"))
                self._show(followed)
        behind = any(followed.behind for followed in self._followed.values())
        if not behind and (folded := self._folded.rest(width=width)):
            self.say(folded)
        return len(self._own) + sum(
            len(followed.waiting) + followed.behind for followed in self._followed.values()
        )

    def lines_left(self) -> int:
        """The lines that `drain` would still have to show; they are passed over now."""
        for followed in self._followed.values():
            if followed.behind:
                self._skip(followed, followed.offset + followed.behind, float("inf"))
            self._count(followed, bytes_max=followed.offset)
        return sum(len(followed.waiting) + followed.skipped for followed in self._followed.values())

    def _follow_journal(self, fresh: Sequence[Fact], at_s: float) -> list[str]:
        """What the new facts are worth saying; those of a past that is in the logs, nothing."""
        words: list[str] = []
        history, self._history = self._history, self._history and not fresh
        newest_s = max((fact.at_s for fact in fresh), default=0.0)
        is_end = any(isinstance(fact, AttemptEnded) for fact in fresh)
        for fact in fresh:
            self._note(fact)
            self._marks.see(fact, at_s - max(0.0, newest_s - fact.at_s))
            holder_gone = isinstance(fact, ProbeBlind) and fact.probe == "holder"
            in_report = is_end and isinstance(fact, FindingTakenBack)  # which comes now
            if holder_gone or not (history or in_report):
                words.extend(map(plain, _lines(fact)))
        return words

    def _note(self, fact: Fact) -> None:
        """What changes how we see all that follows."""
        match fact:
            case AttemptEnded():
                self.ended = fact
            case AttemptStarted() if fact.attempt > self._attempt:
                # The rest of what the last attempt wrote is shown, too.
                self._attempt, self.decided = fact.attempt, None
                self._steps = PrintedSteps()
            case TaskStarted(task=TaskId() as task):
                self._steps.begin_anew(task)
            case RemedyDecided():
                self.decided = fact if is_to_be_done(fact) else None

    def _fresh_findings(self, *, still_true_only: bool) -> list[dict[str, Any]]:
        """A finding is worth a word when it is made; the whole report comes at the end.

        Who joins a run is told what holds now, and not what held once.
        """
        try:
            fd = os.open("findings.jsonl", os.O_RDONLY | os.O_NOFOLLOW, dir_fd=self._run_dir.fd)
        except FileNotFoundError:
            return []
        try:
            fresh = os.pread(fd, FINDINGS_BYTES_MAX, self._findings_read)
        finally:
            os.close(fd)
        whole = fresh[: fresh.rfind(b"\n") + 1]
        self._findings_read += len(whole)
        findings = [json.loads(line) for line in whole.splitlines()]
        if not still_true_only:
            return findings
        newest = {(found["cause"], found["culprit"]): found for found in findings}
        return [found for key, found in newest.items() if not self._marks.is_taken_back(*key)]

    def _open_logs(self) -> None:
        followed = [one for one in self._followed.values() if one.attempt == self._attempt]
        if len(followed) == 2 * len(self._shown):
            return
        for task in self._shown:
            for stream in ("out", "err"):
                if (task, stream, self._attempt) in self._followed:
                    continue
                try:
                    fd = self._run_dir.open_log(task, self._attempt, stream)
                except MissingInput:
                    return  # the supervisor has not made them yet
                offset = _last_lines(fd) if self._joins else 0
                lines = LineAssembler(self._hides(task, stream))
                followed_now = Followed(task, stream, fd, offset, self._attempt, lines)
                self._followed[(task, stream, self._attempt)] = followed_now

    def _hides(self, task: TaskId, stream: str) -> Hides:
        """What is left out of one log, and counted."""
        chosen, name = ChosenLines(self._choice), log_name(task, self._attempt, stream)

        def hides(text: str, at_s: float) -> bool:
            why = chosen.why_hidden(text)
            if why:
                self._folded.add(why, text, task=str(task), log=name, at_s=at_s)
            return bool(why)

        return hides

    def _follow(self, followed: Followed, at_s: float) -> bool:
        """Show more of a log. What the screen does not take now stays where it is: on disk."""
        shown = self._show(followed)
        if followed.waiting:
            self.is_behind = True
            return shown
        counting = False
        if followed.behind > self._behind_max:
            self._skip(followed, followed.offset + followed.behind - CHUNK_BYTES, at_s)
        else:
            counting = self._say_skipped(followed, at_s)
        chunk = self._read(followed, at_s)
        lines = followed.lines
        followed.waiting.extend(
            lines.feed(chunk, at_s=at_s) if chunk else lines.tick(at_s=at_s),
        )
        self.is_behind = self.is_behind or counting
        return self._show(followed) or shown or bool(chunk) or counting

    def _show(self, followed: Followed) -> bool:
        """One by one, each only if there is room: then the screen never makes us wait."""
        task = str(followed.task)
        before = len(followed.waiting)
        while followed.waiting and self._screen.has_room():
            self._screen.show(task, [followed.waiting.popleft()])
        return len(followed.waiting) < before

    def _show_own(self) -> bool:
        before = len(self._own)
        while self._own and self._screen.has_room():
            self._screen.say([self._own.popleft()])
        return len(self._own) < before

    def _read(self, followed: Followed, at_s: float) -> bytes:
        chunk = os.pread(followed.fd, CHUNK_BYTES, followed.offset)
        self.is_behind = self.is_behind or len(chunk) == CHUNK_BYTES
        standing = _standing(followed, chunk)
        if chunk and not standing:
            kept_from = os.lseek(followed.fd, followed.offset, os.SEEK_DATA)
            self._skip(followed, kept_from, at_s)
            return b""
        followed.offset += len(standing)
        return _from_a_beginning(followed, standing) if followed.inside else standing

    def _skip(self, followed: Followed, until: int, at_s: float) -> None:
        """Jump to the first line that begins after `until`; those passed over count later."""
        begun = _standing(followed, os.pread(followed.fd, CHUNK_BYTES, followed.offset))
        rest = begun[: begun.find(b"\n") + 1]  # of the line that is half shown
        if followed.offset + len(rest) <= until:
            followed.offset += len(rest)
            if not followed.inside:
                followed.waiting.extend(followed.lines.feed(rest, at_s=at_s))
        followed.waiting.extend(followed.lines.end(at_s=at_s))
        start = followed.offset
        followed.offset = max(until, start)
        followed.inside = os.pread(followed.fd, 1, followed.offset - 1) != b"\n"
        followed.passed.append((start, followed.offset))

    def _count(self, followed: Followed, *, bytes_max: int) -> None:
        """The lines passed over. To count is to read, which can wait until a flood is over."""
        while followed.passed and bytes_max > 0:
            start, until = followed.passed.pop(0)
            chunk = os.pread(followed.fd, min(SKIP_CHUNK_BYTES, until - start), start)
            followed.skipped += chunk.count(b"\n")
            bytes_max -= len(chunk)
            if chunk and start + len(chunk) < until:
                followed.passed.insert(0, (start + len(chunk), until))
            elif not followed.skipped:
                followed.skipped = 1  # a part of a line, or released ones that nobody can count

    def _say_skipped(self, followed: Followed, at_s: float) -> bool:
        """Whether lines are still being counted; how many they were, once that is known."""
        self._count(followed, bytes_max=COUNT_BYTES_A_STEP)
        if followed.passed:
            return True
        if followed.skipped and at_s - followed.said_s >= SAY_SKIPPED_EVERY_S:
            name = log_name(followed.task, followed.attempt, followed.stream)
            were = "line was" if followed.skipped == 1 else "lines were"
            self.say(f"… {followed.skipped:,} {were} not shown here; see {name}")
            followed.skipped, followed.said_s = 0, at_s
        return False


def _standing(followed: Followed, chunk: bytes) -> bytes:
    """What was read at its offset, up to where --keep-bytes has released it as we came."""
    if b"\0" not in chunk:  # which a task may have written, too
        return chunk
    return chunk[: os.lseek(followed.fd, followed.offset, os.SEEK_HOLE) - followed.offset]


def _from_a_beginning(followed: Followed, chunk: bytes) -> bytes:
    """Without the rest of a line whose beginning nobody saw; it counts as passed over."""
    ends = [at for at in (chunk.find(b"\n"), chunk.find(b"\r")) if at >= 0]
    rest = chunk[min(ends) :].lstrip(b"\r\n") if ends else b""
    start = followed.offset - len(chunk)
    followed.passed.append((start, followed.offset - len(rest)))
    followed.inside = not ends
    return rest


def _lines(fact: Fact) -> Iterator[str]:
    if isinstance(fact, FindingTakenBack):
        yield from taken_back_lines(fact)
    elif line := _line(fact):
        yield line


def _line(fact: Fact) -> str:
    """What is worth a line of its own when it happens."""
    match fact:
        case StartWaits():
            return f"start-up: {fact.says}"
        case TakenOver():
            gone_s = fact.at_s - fact.gone_s
            return f"taken over: nobody had looked for {seconds_text(gone_s)}"
        case TraceTaken():
            return f"profile: {fact.task}: {fact_text(fact)}"
        case ProbeBlind(probe="holder"):
            return f"the holder of the tasks: {fact.why}"
    return recovery_line(fact)


def _last_lines(fd: int) -> int:
    """Where the last lines of a log begin, for one who comes later."""
    start = max(0, os.fstat(fd).st_size - JOIN_BYTES)
    return start + os.pread(fd, JOIN_BYTES, start).find(b"\n") + 1 if start else 0

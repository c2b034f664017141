"""Hears the telling lines of one log file that somebody handed us: lines in, facts out."""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from holdfast.model.error_like import ERROR_LIKE_HEARS, is_error_like
from holdfast.model.facts import LastWords, LogLine, OutputEnded, TracebackSeen
from holdfast.model.heard import UNTIMED, Heard
from holdfast.model.log_clock import LogClock, Moment
from holdfast.model.log_facts import TotalTold
from holdfast.model.log_origin import HEARS, Clue, clues_in
from holdfast.model.log_prefix import Said, is_labelled, said_in
from holdfast.model.log_storms import RawLine, Storms
from holdfast.model.log_totals import EPOCH_HEAD, last_total
from holdfast.model.log_tracebacks import BOX_END, Found, Part, Tracebacks, embedded
from holdfast.model.pattern import AnyOf, Pattern
from holdfast.model.redact import redact
from holdfast.model.settling import settle
from holdfast.model.spec import task_named
from holdfast.model.steps import steps_told
from holdfast.model.tracebacks import HEADER
from holdfast.model.watch_facts import StepsSeen

__all__ = ["ALSO_HEARS", "Heard", "Hearing", "hear_text", "settle"]

LINE_BYTES_MAX = 16_384
LAST_LINES_MAX = 20
LAST_LINE_LENGTH_MAX = 1_000
TAIL_BYTES = 8_192
HEAD_BYTES = BEFORE_BYTES = 4_096
LINES_LOOKED_AT_MAX = 20  # for a time, above a line that tells none
LABEL_LENGTH_MAX = 80
CLUES_MAX = 200
TRACEBACKS_FIRST_MAX = 200
TRACEBACKS_LAST_MAX = 50
SUMMARY_LINES_MAX = 8
_OF_SLURM = (b"slurm", b"srun: ", b"sbatch: ", b"salloc: ")
_HEADER = b"Traceback (most recent call last)"
_FRAME = 'File "'
_CLOCK = Pattern(r"\d\d:\d\d:\d\d|1\d{9}\.")
_SUMMARY = Pattern(r"^Root Cause(?: \(first observed failure\))?:$")
_SUMMARY_OF = Pattern(r"\bhost\s*: (?P<host>\S+)\s+rank\s*: (?P<index>\d+)")
# What no cause asks for: whose log this is, tracebacks, and whatever sounds like an error.
ALSO_HEARS = (
    Pattern(r"Traceback \(most recent call last\):"),
    Pattern(r"Exception ignored in|Exception in thread |Error in atexit"),
    Pattern(r"Root Cause(?: \(first observed failure\))?:"),
    EPOCH_HEAD,
    *HEARS,
    *ERROR_LIKE_HEARS,
)


@dataclass(slots=True)
class Hearing:
    """Fed with the lines that tell, and with those that follow while it `wants_more`."""

    source: str
    _lines: list[LogLine] = field(default_factory=list)
    _first: list[TracebackSeen] = field(default_factory=list)
    _last: deque[TracebackSeen] = field(default_factory=lambda: deque(maxlen=TRACEBACKS_LAST_MAX))
    _clues: list[Clue] = field(default_factory=list)
    _storms: Storms = field(default_factory=Storms)
    _tracebacks: Tracebacks = field(default_factory=Tracebacks)
    # Of torchrun, one thing in many lines; which of them are kept.
    _summary: list[tuple[LogLine, bool]] = field(default_factory=list)
    _labelled: bool = False
    _clock: LogClock = field(default_factory=LogClock)
    _now: Moment | None = None  # what the last line told that told a time
    _local: set[int] = field(default_factory=set)  # lines whose time is that of a local clock

    @property
    def wants_more(self) -> bool:
        """Whether the very next line is needed, telling or not: something is not at its end."""
        return self._tracebacks.are_open or bool(self._summary)

    def take(
        self, raw: bytes, *, line: int, offset: int, before: bytes = b"", told: bool = True
    ) -> None:
        """One line without its end; `before` is some of what stands above it.

        `told` is False for one that was asked for only because something is not at its end.
        """
        one = RawLine(raw, line, offset, before)
        admitted = told and (self._storms.admits(one) or _HEADER in raw)
        if admitted or self.wants_more:
            self._hear(one, keep=admitted)

    def _hear(self, one: RawLine, *, keep: bool) -> None:
        text = redact(one.raw[:LINE_BYTES_MAX].decode("utf-8", "replace").rstrip("\r"))
        above = _lines_of(one.before)
        labelled = self._is_labelled(text, above)
        said = said_in(text, labelled=labelled)
        if keep:
            said = self._timed(said, one, above)
            if any(_FRAME in line or line.startswith(BOX_END) for line in above):
                stack = [said_in(line, labelled=labelled) for line in above]
                self._tracebacks.resume(said, stack, line=one.line, offset=one.offset)
        ended, part = self._tracebacks.take(said, line=one.line, offset=one.offset)
        if keep and part is Part.NONE:
            ended += embedded(said, line=one.line, offset=one.offset)
        for found in ended:
            self._add_traceback(found)
        if self._summary or (keep and part is not Part.STACK):
            fact = self._line(one, said)
            if self._summarises(said):
                self._summary.append((fact, keep))
            elif keep:
                self._lines.append(fact)
        if keep and len(self._clues) < CLUES_MAX:
            self._clues += clues_in(said.text, line=one.line)

    def _is_labelled(self, text: str, above: list[str]) -> bool:
        """By the lines above; and before a traceback's header nothing else can stand alone."""
        if not self._labelled and ":" in text[:LABEL_LENGTH_MAX]:
            self._labelled = text.endswith(HEADER) and (
                said_in(text).text != said_in(text, labelled=True).text == HEADER
            )
            return self._labelled or is_labelled([text, *above])
        return self._labelled

    def _line(self, one: RawLine, said: Said) -> LogLine:
        """The line with its prefix: causes may ask for that, too."""
        return LogLine(
            at_s=_at_s(said),
            host=said.host,
            task=said.task,
            text=said.whole,
            stream=said.stream or "err",
            line=one.line,
            offset=one.offset,
            source=self.source,
            level=said.level or ("E" if is_error_like(said.text) else ""),
        )

    def _add_traceback(self, found: Found) -> None:
        fact = TracebackSeen(
            at_s=_at_s(found.said),
            host=found.said.host,
            task=found.said.task,
            exception=found.traceback.exception,
            message=found.traceback.message,
            frames=found.traceback.frames,
            stream=found.said.stream or "err",
            line=found.line,
            offset=found.offset,
            source=self.source,
            follows=found.follows,
        )
        kept = self._first if len(self._first) < TRACEBACKS_FIRST_MAX else self._last
        kept.append(fact)

    def _summarises(self, said: Said) -> bool:
        """Whether a line is part of what torchrun puts on many lines: who failed first, and how."""
        bare = said.text.strip()
        if said.is_record or bare.startswith("===") or len(self._summary) > SUMMARY_LINES_MAX:
            self._end_summary()
        return bool(self._summary or _SUMMARY.search(bare))

    def _end_summary(self) -> None:
        """What it says is said of the one that it names."""
        lines, self._summary = self._summary, []
        found = _SUMMARY_OF.search(" ".join(fact.text for fact, _ in lines))
        task = task_named("rank", found.group("index")) if found else None
        if found is None or task is None:
            self._lines += (fact for fact, kept in lines if kept)
            return
        host = found.group("host")
        self._lines += (replace(fact, task=task, host=host) for fact, kept in lines if kept)
        self._clues.append(Clue("summary", task, host, line=lines[0][0].line))

    def _timed(self, said: Said, one: RawLine, above: list[str]) -> Said:
        """A line that tells no time was written when the last one above it was that does."""
        if not self._lines and self._now is None:
            self._note_all(_first_lines(one.before))
        moment = _moment(said) or _last_moment(above) or self._now
        if moment is None:
            return said
        self._clock.note(moment)
        self._now = moment
        if moment.is_local:
            self._local.add(one.line)
        return replace(said, at_unix_s=moment.unix_s, is_local=moment.is_local)

    def _note_all(self, lines: list[str]) -> None:
        for line in lines:
            if _CLOCK.search(line) and (moment := _moment(said_in(line))):
                self._clock.note(moment)

    def _corrected(self, fact: LogLine | TracebackSeen) -> LogLine | TracebackSeen:
        if fact.line not in self._local or not self._clock.away_s:
            return fact
        return replace(fact, at_s=self._clock.corrected_s(Moment(fact.at_s, is_local=True)))

    def end(self, *, tail: bytes, bytes_total: int, lines_total: int, head: bytes = b"") -> Heard:
        """The file is over; `tail` is its last few kilobytes, `head` its first."""
        for found in self._tracebacks.end():
            self._add_traceback(found)
        for one in self._storms.late():
            self._hear(one, keep=True)
        self._end_summary()
        last = _lines_of(tail)
        self._note_all(_first_lines(head))
        self._note_all(last)
        span = self._clock.span()
        over = _last_moment(last)
        over_s = self._clock.corrected_s(over) if over else span[1] if span else UNTIMED
        told: list[LogLine | TracebackSeen] = [*self._lines, *self._first, *self._last]
        facts = [self._corrected(fact) for fact in told]
        facts.sort(key=lambda fact: (fact.line, fact.offset))
        ended = OutputEnded(
            at_s=over_s,
            host="",
            stream="err",
            bytes_total=bytes_total,
            lines_total=lines_total,
            lines_heard=self._storms.heard,
            lines_left_out=self._storms.left_out,
            source=self.source,
        )
        last_told = (
            *_last_words(tail, over_s, self.source),
            *_steps(tail, over_s),
            *self._total(tail, over_s, head),
        )
        return Heard(self.source, (*facts, *last_told, ended), tuple(self._clues), span)

    def _total(self, tail: bytes, at_s: float, head: bytes) -> Iterator[TotalTold]:
        """Whether the training came as far as the log says that it would."""
        heads = [fact for fact in self._lines if EPOCH_HEAD.search(fact.text)]
        newest = max(heads, key=lambda fact: fact.line, default=None)
        lines = tail.decode("utf-8", "replace").split("\n")[len(tail) >= TAIL_BYTES :]
        first = head.decode("utf-8", "replace").split("\n")
        known = last_total(lines, head=newest.text if newest else "", first_lines=first)
        if known.is_reached or known.is_short:
            yield TotalTold(
                at_s=at_s,
                host="",
                is_reached=known.is_reached,
                source=self.source,
                total=known.steps.total if known.steps else 0,
            )


def hear_text(source: str, log: bytes, telling: AnyOf) -> Heard:
    """A whole log that is in memory, heard as a file on disk is: what tells, and what follows."""
    hearing = Hearing(source)
    offset = 0
    lines = log.split(b"\n")
    for number, raw in enumerate(lines, 1):
        told = telling.first(raw, 0) >= 0
        if told or hearing.wants_more:
            before = log[max(0, offset - BEFORE_BYTES) : offset]
            hearing.take(raw, line=number, offset=offset, before=before, told=told)
        offset += len(raw) + 1
    return hearing.end(
        tail=log[-TAIL_BYTES:],
        bytes_total=len(log),
        lines_total=len(lines) - (not lines[-1]),
        head=log[:HEAD_BYTES],
    )


def _at_s(said: Said) -> float:
    return UNTIMED if said.at_unix_s is None else said.at_unix_s


def _moment(said: Said) -> Moment | None:
    return None if said.at_unix_s is None else Moment(said.at_unix_s, said.is_local)


def _last_moment(lines: list[str]) -> Moment | None:
    for line in reversed(lines):
        if _CLOCK.search(line) and (moment := _moment(said_in(line))):
            return moment
    return None


def _lines_of(piece: bytes) -> list[str]:
    """The last whole lines of what stands before something, or at the end."""
    lines = piece[-BEFORE_BYTES:].decode("utf-8", "replace").split("\n")
    whole = lines if len(piece) < BEFORE_BYTES else lines[1:]
    return [line for line in whole if line][-LINES_LOOKED_AT_MAX:]


def _first_lines(head: bytes) -> list[str]:
    lines = head.decode("utf-8", "replace").split("\n")
    return [line for line in lines if line][:LINES_LOOKED_AT_MAX]


def _last_words(tail: bytes, at_s: float, source: str) -> Iterator[LastWords]:
    # Blank ones, too, unless they are the last: who counts back from the end needs them.
    lines = tail.decode("utf-8", "replace").rstrip().split("\n")[-LAST_LINES_MAX:]
    kept = [redact(line.rstrip()[-LAST_LINE_LENGTH_MAX:]) for line in lines]
    if kept[-1]:
        yield LastWords(at_s=at_s, host="", lines=tuple(kept), source=source)


def _steps(tail: bytes, at_s: float) -> Iterator[StepsSeen]:
    """How far the training had come, by the end of the log."""
    lines = tail.split(b"\n")[len(tail) >= TAIL_BYTES :]
    # The steps of Slurm are not those of a training.
    known = steps_told(b"\n".join(line for line in lines if not line.startswith(_OF_SLURM)))
    if known.step >= 0:
        yield StepsSeen(at_s=at_s, host="", step=known.step, source=known.source)

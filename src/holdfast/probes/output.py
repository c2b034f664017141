"""Listens to one stream of a task's output: telling lines and tracebacks become facts."""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from holdfast.model.cluster import TaskId
from holdfast.model.facts import Fact, LastWords, LogLine, OutputEnded, TracebackSeen
from holdfast.model.pattern import AnyOf
from holdfast.model.redact import redact
from holdfast.model.tracebacks import HEADER, LINKS, TracebackReader

LINES_HEARD_MAX = 300  # of one stream; the first ones tell most
LINES_LAST_MAX = 50  # the last ones beyond that, told when the stream ends
TRACEBACKS_MAX = 50
LINE_BYTES_MAX = 16_384  # a longer line is judged by its beginning
LINK_BYTES_MAX = 8  # line ends between those words and the header
LAST_WORDS_BYTES = 8_192
LAST_WORDS_LINES_MAX = 20

_HEADER = HEADER.encode()


@dataclass(slots=True)
class Listener:
    """Fed with the stream's bytes in order, wherever they were cut."""

    host: str
    task: TaskId
    stream: str
    telling: AnyOf
    attempt: int = 1
    offset: int = 0  # of the next byte we shall be fed
    counted: bool = True  # False when it starts in the middle: line numbers are unknown
    lines: int = 0
    heard: int = 0
    tracebacks: int = 0
    _rest: bytes = b""
    _skipping: bool = False  # inside a line that is longer than we look at
    _tail: bytes = b""  # of that line: a traceback may begin where an unended line ends
    _reader: TracebackReader | None = None
    _reader_at: tuple[int, int] = (0, 0)
    _prefix: str = ""  # that somebody put before the header: torch has `[rank0]: ` on every line
    _link: tuple[str, int] = ("", 0)  # words that join the next traceback to the last, and where
    _late: deque[LogLine] = field(default_factory=lambda: deque(maxlen=LINES_LAST_MAX))
    _left_out: int = 0

    def feed(self, chunk: bytes, at_s: float) -> list[Fact]:
        """The facts in the lines that are now complete."""
        start = self.offset - len(self._rest)
        self.offset += len(chunk)
        if self._skipping:
            end = chunk.find(b"\n")
            self._tail = (self._tail + chunk[: end if end >= 0 else None])[-2 * len(_HEADER) :]
            if end < 0:
                return []
            self._skipping = False
            self.lines += 1
            start, chunk = self.offset - len(chunk) + end + 1, chunk[end + 1 :]
            if self._tail.rstrip().endswith(_HEADER):
                self._begin_traceback("", self.lines if self.counted else 0, start)
        else:
            chunk = self._rest + chunk
        end = chunk.rfind(b"\n") + 1
        self._rest = chunk[end:]
        facts = list(self._hear(chunk[:end], start, at_s))
        if len(self._rest) > LINE_BYTES_MAX:
            facts += self._hear(self._rest[:LINE_BYTES_MAX] + b"\n", start + end, at_s)
            self.lines -= 1  # counted again when its end comes
            self._tail = self._rest[-2 * len(_HEADER) :]
            self._rest, self._skipping = b"", True
        return facts

    @property
    def holds_back(self) -> bool:
        """Whether a pause would tell something: asked ten times a second, so it costs nothing."""
        return not self._rest and self._reader is not None and bool(self._reader.exception)

    def pause(self, at_s: float) -> list[Fact]:
        """Nothing more for now: a traceback that has its exception is told at once."""
        return list(self._finish_traceback(at_s)) if self.holds_back else []

    def end(self, at_s: float) -> list[Fact]:
        """The stream is over: what was held back, and what it amounted to."""
        facts: list[Fact] = []
        if self._rest:
            start = self.offset - len(self._rest)
            facts += self._hear(self._rest + b"\n", start, at_s)
            self._rest = b""
        facts += self._finish_traceback(at_s)
        facts += self._late
        ended = OutputEnded(
            at_s=at_s,
            host=self.host,
            task=self.task,
            attempt=self.attempt,
            stream=self.stream,
            bytes_total=self.offset,
            lines_total=self.lines,
            lines_heard=self.heard,
            lines_left_out=max(0, self._left_out - len(self._late)),
        )
        return [*facts, ended]

    def _hear(self, block: bytes, start: int, at_s: float) -> Iterator[Fact]:
        """Whole lines in; almost all of them are passed over without being looked at."""
        place = 0
        counted_to = 0
        while place < len(block):
            if self._reader is None:
                hit = self._next_hit(block, place)
                if hit < 0:
                    break
                place = block.rfind(b"\n", 0, hit) + 1
            self.lines += block.count(b"\n", counted_to, place)
            stop = block.index(b"\n", place)
            yield from self._line(block[place:stop], start + place, at_s)
            self.lines += 1
            place = counted_to = stop + 1
        self.lines += block.count(b"\n", counted_to)

    def _next_hit(self, block: bytes, place: int) -> int:
        told = self.telling.first(block, place)
        header = block.find(_HEADER, place, told if told >= 0 else len(block))
        return header if header >= 0 else told

    def _line(self, raw: bytes, offset: int, at_s: float) -> Iterator[Fact]:
        text = raw[:LINE_BYTES_MAX].decode("utf-8", "replace").rstrip("\r")
        number = self.lines + 1 if self.counted else 0
        if self._reader is not None:
            said = text.removeprefix(self._prefix)
            if self._reader.take(said):
                if self.telling.first(raw[:LINE_BYTES_MAX], 0) >= 0:
                    yield from self._tell(text, number, offset, at_s)
                return
            yield from self._finish_traceback(at_s)
            self._link = (LINKS.get(said.strip(), ""), offset + len(raw))
        if text.rstrip().endswith(HEADER):
            self._begin_traceback(text.rstrip().removesuffix(HEADER), number, offset)
        elif self.telling.first(raw[:LINE_BYTES_MAX], 0) >= 0:
            yield from self._tell(text, number, offset, at_s)

    def _tell(self, text: str, number: int, offset: int, at_s: float) -> Iterator[Fact]:
        fact = LogLine(
            at_s=at_s,
            host=self.host,
            task=self.task,
            attempt=self.attempt,
            text=redact(text),
            stream=self.stream,
            line=number,
            offset=offset,
        )
        self.heard += 1
        if self.heard <= LINES_HEARD_MAX:
            yield fact
        else:
            self._late.append(fact)
            self._left_out += 1

    def _begin_traceback(self, prefix: str, number: int, offset: int) -> None:
        self._reader, self._reader_at, self._prefix = TracebackReader(), (number, offset), prefix

    def _finish_traceback(self, at_s: float) -> Iterator[Fact]:
        reader, self._reader = self._reader, None
        found = reader.result() if reader else None
        if found is None or self.tracebacks >= TRACEBACKS_MAX:
            return
        self.tracebacks += 1
        line, offset = self._reader_at
        (link, linked_at), self._link = self._link, ("", 0)
        yield TracebackSeen(
            at_s=at_s,
            host=self.host,
            task=self.task,
            attempt=self.attempt,
            exception=found.exception,
            message=redact(found.message),
            frames=tuple(map(redact, found.frames)),
            stream=self.stream,
            line=line,
            offset=offset,
            follows=link if offset - linked_at <= LINK_BYTES_MAX + len(self._prefix) else "",
        )


def last_words(tail: bytes, silent: LastWords) -> LastWords | None:
    """The last lines in the end of a stream; `silent` brings who, where and when."""
    lines = [line.decode("utf-8", "replace").rstrip() for line in tail.splitlines()]
    kept = [redact(line[:1_000]) for line in lines if line][-LAST_WORDS_LINES_MAX:]
    return replace(silent, lines=tuple(kept)) if kept else None

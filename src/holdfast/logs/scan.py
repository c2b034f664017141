"""Scans bytes for telling lines, from one to the next: bounded memory, whatever comes."""

from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import blake2b

from holdfast.logs.filter import Telling
from holdfast.logs.kept import Kept, likeness
from holdfast.logs.part import HeardPart, Part, Told, ToldLine
from holdfast.logs.repeats import Repeats
from holdfast.model.hearing import BEFORE_BYTES, HEAD_BYTES, LINE_BYTES_MAX, TAIL_BYTES, Hearing

BLOCK_BYTES = 1 << 20
OVER_BYTES = 64 << 10
FOLLOWING_LINES_MAX = 2_000  # of one telling line: a traceback that never ends
FOLLOWING_BYTES_MAX = 256 << 10
KINDS_MAX = 2_000  # of lines that are tried for what may follow them
_FRAME = b'File "'
FRAME_LINES = 3  # its place, its code, and a line of marks below that
_SURELY_OPENS = b"Traceback (most recent call last)"

Read = Callable[[int], bytes]


def scan(
    part: Part, read: Read, telling: Telling, *, inside: bool = False, above: bytes = b""
) -> HeardPart:
    """All that the lines tell that begin in a part; `inside`: it begins within a line.

    `read` gives the next bytes from the part's start on, none at the end of the file; `above` is
    some of what stands before it.
    """
    scanner = Scanner(part, telling, inside=inside, above=above)
    while (room := scanner.room()) and (chunk := read(room)):
        scanner.feed(chunk)
    while scanner.is_open and (chunk := read(OVER_BYTES)):
        scanner.feed_over(chunk)
    return scanner.end()


@dataclass(slots=True)
class _Open:
    """A telling line whose following lines are still to come."""

    hearing: Hearing
    before: bytes
    lines: list[ToldLine] = field(default_factory=list)
    size: int = 0

    @property
    def wants_more(self) -> bool:
        few = len(self.lines) < FOLLOWING_LINES_MAX and self.size < FOLLOWING_BYTES_MAX
        return few and self.hearing.wants_more

    def take(self, line: ToldLine) -> None:
        before = b"" if self.lines else self.before
        self.hearing.take(
            line.raw, line=line.line + 1, offset=line.offset, before=before, told=line.told
        )
        self.lines.append(line)
        self.size += len(line.raw)

    def told(self) -> Told:
        """All of it. What it is like does not depend on the line that showed its end."""
        own = self.lines[: max(1, len(self.lines) - 1)]
        like = likeness(own[0].raw)
        if len(self.lines) > 1:
            rest = b"\n".join(likeness(line.raw) for line in own)
            like += blake2b(rest, digest_size=16).digest()
        return Told(lines=tuple(self.lines), before=self.before, likeness=like)


class _Block:
    """Some bytes of a file, and where in it they begin."""

    __slots__ = ("begin", "marked", "raw")

    def __init__(self, raw: bytes, begin: int) -> None:
        self.raw = raw
        self.begin = begin
        self.marked = raw.replace(b"\r", b"\n") if b"\r" in raw else raw

    def last_end(self) -> int:
        r"""The place behind the last line end. A last \r does not count: its \n may be next."""
        stop = len(self.raw) - self.raw.endswith(b"\r")
        return self.marked.rfind(b"\n", 0, stop) + 1

    def next_line(self, at: int) -> tuple[int, int]:
        """Where the line that begins at a place ends, and where the next one begins."""
        stop = self.marked.find(b"\n", at)
        stop = stop if stop >= 0 else len(self.raw)
        return stop, self.after(stop)

    def line(self, start: int, stop: int) -> bytes:
        """What a line is judged by."""
        return self.raw[start : min(stop, start + LINE_BYTES_MAX)]

    def after(self, line_stop: int) -> int:
        return line_stop + (2 if self.raw[line_stop : line_stop + 2] == b"\r\n" else 1)


class Scanner:
    r"""Fed with one chunk after another. A line ends with \n, \r\n or \r; only \n is counted.

    A progress bar is drawn over itself with \r, thousands of times in what is one line of the
    file: each drawing is judged by itself, and what is printed after the last one, too.
    """

    def __init__(self, part: Part, telling: Telling, *, inside: bool, above: bytes) -> None:
        self._part = part
        self._telling = telling
        self._kept = Kept()
        self._lone: set[bytes] = set()  # kinds of lines that nothing follows
        self._open: _Open | None = None
        self._closed: Told | None = None  # the last one that was open
        self._closed_by_last = False
        self._repeats = Repeats()
        self._skipping = inside  # until the next line end
        self._block = _Block(b"", part.start)
        self._end = part.start  # of what was fed
        self._lines = 0  # counted line ends before the block's place `_counted`
        self._counted = 0
        self._newlines = 0
        self._above = above
        self._head = b""
        self._tail = b""
        self._read_to = part.start

    def room(self) -> int:
        """How many bytes of the part are to be fed next."""
        if self._part.end < 0:
            return BLOCK_BYTES
        return max(0, min(BLOCK_BYTES, self._part.end - self._end))

    @property
    def is_open(self) -> bool:
        """Whether a line of ours, or what belongs to it, goes on behind the part's end."""
        return bool(self._open or self._block.raw)

    def feed(self, chunk: bytes) -> None:
        if len(self._head) < HEAD_BYTES:
            self._head = (self._head + chunk[:HEAD_BYTES])[:HEAD_BYTES]
        self._tail = (self._tail + chunk[-TAIL_BYTES:])[-TAIL_BYTES:]
        block = self._next_block(chunk)
        start = self._skip() if self._skipping else 0
        stop = max(start, block.last_end())
        self._judge(start, stop)
        self._rest(stop)
        self._newlines = self._lines

    def feed_over(self, chunk: bytes) -> None:
        """What stands behind the part's end: only the rest of what began in it is ours."""
        unfinished = bool(self._block.raw) and not self._skipping
        block = self._next_block(chunk)
        at = self._skip() if self._skipping else 0
        if unfinished:
            if not block.last_end():
                self._rest(0)
                return
            at = block.next_line(0)[1]
            self._judge(0, at)
        stop = max(at, block.last_end())
        self._follow(at, stop)
        if self._open:
            self._rest(stop)
        else:
            self._block = _Block(b"", self._end)

    def end(self) -> HeardPart:
        """The part is over: what is left is a line without its end."""
        fed_to = self._end
        if self._block.raw:
            block = self._next_block(b"\n")
            self._judge(0, len(block.raw))
        self._close()
        stop = fed_to if self._part.end < 0 else min(fed_to, self._part.end)
        return HeardPart(
            part=self._part,
            told=self._kept.all(),
            left_out=self._kept.left_out,
            newlines=self._newlines,
            bytes_read=stop - self._part.start,
            read_to=self._read_to,
            head=b"" if self._part.start else self._head,
            tail=self._tail,
        )

    def _next_block(self, chunk: bytes) -> "_Block":
        begin = self._end - len(self._block.raw)
        self._block = _Block(self._block.raw + chunk, begin)
        self._counted = 0
        self._end += len(chunk)
        return self._block

    def _skip(self) -> int:
        """The place behind the end of a line that was judged; the block's, if there is none."""
        if not self._block.last_end():
            return len(self._block.raw) - self._block.raw.endswith(b"\r")
        self._skipping = False
        return self._block.next_line(0)[1]

    def _rest(self, stop: int) -> None:
        """The block is judged up to `stop`; what is left waits for its end, if it is not long."""
        block = self._block
        self._line_at(stop)
        self._above = self._before(stop)
        self._counted = 0
        self._block = _Block(block.raw[stop:], block.begin + stop)
        rest = self._block.raw
        if len(rest) > LINE_BYTES_MAX and not rest.endswith(b"\r"):
            self._judge(0, len(rest))
            self._above = self._before(len(rest))
            self._block = _Block(b"", self._end)
            self._skipping = True

    def _judge(self, start: int, stop: int) -> None:
        """The lines from one place of the block to another, each in its order."""
        block = self._block
        at = shift = self._follow(start, stop)
        if at >= stop:
            return
        for first, last in self._telling.spans(
            block.marked[at:stop], line_bytes_max=LINE_BYTES_MAX
        ):
            if first + shift >= at and self._is_ours(first + shift):
                at = self._begin(first + shift, last + shift, stop)

    def _is_ours(self, place: int) -> bool:
        return self._part.end < 0 or self._block.begin + place < self._part.end

    def _begin(self, start: int, line_stop: int, stop: int) -> int:
        """A telling line, and what follows it; the place behind all of that."""
        line = self._told_line(start, self._block.line(start, line_stop), told=True)
        before = self._before(start)
        like = likeness(line.raw)
        surely_opens = _SURELY_OPENS in line.raw
        tried_enough = len(self._lone) >= KINDS_MAX and not surely_opens
        below_frames = not surely_opens and _ends_with_frames(before)
        if tried_enough or (like in self._lone and not below_frames):
            self._kept.add(Told(lines=(line,), before=before, likeness=like))
            return line_stop
        after = self._block.after(line_stop)
        known = self._repeats.again(line, before, self._block.raw, after, stop)
        if known is not None and not below_frames:
            told, size = known
            self._kept.add(told)
            self._read_to = self._block.begin + after + size
            return after + size
        self._open = _Open(Hearing(self._part.source), before)
        self._open.take(line)
        if self._open.wants_more:
            return self._follow_and_learn(after, stop)
        if not below_frames:
            self._lone.add(like)
        self._close()
        return line_stop

    def _follow_and_learn(self, at: int, stop: int) -> int:
        """As `_follow`; what ends within the block is known from then on."""
        end = self._follow(at, stop)
        if self._open is None and self._closed is not None:
            raw = self._block.raw
            began = raw.rfind(b"\n", 0, end - 1) + 1 if self._closed_by_last else end
            closer_end = raw.find(b"\n", began, stop)
            if began >= at and closer_end >= 0 and b"\r" not in raw[at:closer_end]:
                self._repeats.learn(
                    self._closed,
                    raw[at:began],
                    raw[began:closer_end],
                    takes_closer=self._closed_by_last,
                )
        return end

    def _follow(self, at: int, stop: int) -> int:
        """Take the lines that an open one wants, up to `stop`; the place of the next line."""
        while self._open and at < stop:
            line_stop, after = self._block.next_line(at)
            raw = self._block.line(at, line_stop)
            told = self._telling.is_telling(raw)
            self._open.take(self._told_line(at, raw, told=told))
            if not self._open.wants_more:
                self._closed_by_last = not (told and not self._open.hearing.wants_more)
                if not self._closed_by_last:
                    self._open.lines.pop()  # it is the next telling line
                    after = at
                self._close()
            at = after
            self._read_to = self._block.begin + at
        return at

    def _close(self) -> None:
        if self._open:
            self._closed = self._open.told()
            self._kept.add(self._closed)
            self._open = None

    def _told_line(self, start: int, raw: bytes, *, told: bool) -> ToldLine:
        return ToldLine(self._line_at(start), self._block.begin + start, raw, told)

    def _line_at(self, place: int) -> int:
        """How many lines end before a place of the block: asked from left to right."""
        self._lines += self._block.raw.count(b"\n", self._counted, place)
        self._counted = max(self._counted, place)
        return self._lines

    def _before(self, place: int) -> bytes:
        if place >= BEFORE_BYTES:
            return self._block.raw[place - BEFORE_BYTES : place]
        return (self._above + self._block.raw[:place])[-BEFORE_BYTES:]


def _ends_with_frames(above: bytes) -> bool:
    """Whether the next line may be the exception of a traceback whose header was cut off."""
    return any(_FRAME in line for line in above.rstrip(b"\n").split(b"\n")[-FRAME_LINES:])

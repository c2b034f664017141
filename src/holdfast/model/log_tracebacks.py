"""The tracebacks of one log, read side by side: one for each of those who write to it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from holdfast.model.log_prefix import Said
from holdfast.model.pattern import Pattern
from holdfast.model.tracebacks import HEADER, LINKS, Traceback, TracebackReader

OPEN_MAX = 64  # at once; of more, the one that has waited longest ends
IDLE_LINES_MAX = 200  # lines of others, after which a traceback is over
LINES_MAX = 2_000  # of one traceback
EMBEDDED_LINES_MAX = 400
LINK_LINES_MAX = 3  # from the words that join two tracebacks to the header of the second
_MARGIN = Pattern(r"^ *\| ?")  # before the lines of an ExceptionGroup
_RULE = Pattern(r"^ *\+[-+]+(?: [\d.]+ -+)?$")  # before, between and after its members
_MEMBER = Pattern(r"^ *\+[-+]+ \d+ -+$")
_FRAME = 'File "'
# The library rich draws a box around the frames, and leaves out the header that Python writes.
BOX_END = "╰"
_BOXED = Pattern(r"^│ (\S+):(\d+) in (\S+) +│$")
_RAY = "ray::"  # who runs code elsewhere puts that stack behind the exception's name
_INDENT = "  "
# The line of an exception, which nothing but its frames can stand above.
_RAISED = Pattern(
    r"^(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Iteration|Interrupt|Exit|Limit)(?:: |:?$)"
)


@dataclass(frozen=True, slots=True)
class Found:
    """A whole traceback, who wrote it, and where it began."""

    traceback: Traceback
    said: Said
    line: int
    offset: int
    follows: str = ""  # how it hangs together with the one above it


@dataclass(slots=True)
class _Open:
    said: Said  # the header
    line: int
    offset: int
    group: bool = False
    reader: TracebackReader = field(default_factory=TracebackReader)
    bare: bool = False  # a line came without the header's prefix
    after_frame: bool = False
    lines: int = 0
    touched: int = 0
    indent: str = ""  # before the header, and so before every line that belongs to it
    follows: str = ""


class Part(StrEnum):
    """What a line is to the traceback that it belongs to."""

    NONE = ""
    STACK = "stack"  # the header, frames, the exception's own line, what is indented below it
    MESSAGE = "message"  # below the exception's line: more of its message, or something else


@dataclass(slots=True)
class Tracebacks:
    """Fed with lines; says which of them belong to a traceback, and which tracebacks are whole."""

    _open: dict[str, _Open] = field(default_factory=dict)
    _links: dict[str, tuple[int, str]] = field(default_factory=dict)  # where, and which
    _lines: int = 0

    @property
    def are_open(self) -> bool:
        return bool(self._open)

    def take(self, said: Said, *, line: int, offset: int) -> tuple[list[Found], Part]:
        """The tracebacks that this line ends, and what it is to one that is open."""
        self._lines += 1
        ended = list(self._idle())
        known = self._open.get(said.speaker)
        had_exception = known is not None and bool(known.reader.exception)
        header = said.text.rstrip().endswith(HEADER)
        if known is not None and not (header and had_exception) and self._feed(known, said):
            known.touched = self._lines
            if (header or _RAY in said.text) and known.reader.exception and not had_exception:
                # What follows is the inner one: its frames, and its own exception.
                ended += self._end(said.speaker)
                self._begin(said, line, offset, group=False)
            below = had_exception and said.carried[:1] not in {"", " ", "\t"}
            return ended, Part.MESSAGE if below else Part.STACK
        group = known is not None and known.group
        ended += self._end(said.speaker)
        if known is not None and (link := LINKS.get(_without_margin(said.carried).strip())):
            self._links = {said.speaker: (line, link)}
        if header or (group and _MEMBER.search(said.carried)):
            self._begin(said, line, offset, group=group or "Exception Group" in said.text)
            return ended, Part.STACK
        return ended, Part.NONE

    def resume(self, said: Said, above: Sequence[Said], *, line: int, offset: int) -> None:
        """Before an exception's own line: the frames above it, where their header was cut off."""
        if said.speaker in self._open or said.is_record or not _RAISED.search(said.carried):
            return
        frames = _frames_above(said, above) or _boxed_above(said, above)
        if frames:
            self._begin(said, line, offset, group=False)
        if frames and (known := self._open.get(said.speaker)):
            for text in frames:
                known.reader.take(text)

    def end(self) -> list[Found]:
        """What was open at the end of the log."""
        return [found for speaker in list(self._open) for found in self._end(speaker)]

    def _begin(self, said: Said, line: int, offset: int, *, group: bool) -> None:
        if len(self._open) < OPEN_MAX:
            margin = said.carried[: len(said.carried) - len(said.carried.lstrip())]
            at, link = self._links.pop(said.speaker, (0, ""))
            follows = link if line - at <= LINK_LINES_MAX else ""
            self._open[said.speaker] = _Open(
                said, line, offset, group, touched=self._lines, indent=margin, follows=follows
            )

    def _idle(self) -> Iterator[Found]:
        idle = [
            speaker
            for speaker, one in self._open.items()
            if self._lines - one.touched > IDLE_LINES_MAX or one.lines >= LINES_MAX
        ]
        for speaker in idle:
            yield from self._end(speaker)

    def _end(self, speaker: str) -> Iterator[Found]:
        one = self._open.pop(speaker, None)
        if one is not None and (found := one.reader.result()):
            yield Found(found, one.said, one.line, one.offset, one.follows)

    def _feed(self, known: _Open, said: Said) -> bool:
        text = _continued(known, said)
        if text is None:
            return False
        if text.startswith(known.indent):
            text = text[len(known.indent) :]
        elif known.reader.exception and text.strip():
            return False
        if known.group:
            if _RULE.search(text):
                return False
            text = _without_margin(text)
            if text.endswith(HEADER):
                return False
        known.lines += 1
        known.after_frame = text.lstrip().startswith(_FRAME)
        return known.reader.take(text)


def _without_margin(text: str) -> str:
    margin = _MARGIN.search(text)
    return text[margin.end() :] if margin else text


def _continued(known: _Open, said: Said) -> str | None:
    """What a line adds to an open traceback; None where it begins something of its own."""
    if not said.is_record:
        known.bare = True
        return said.carried
    if known.bare or known.reader.exception or not known.said.is_record:
        return None
    # A logger that puts its prefix before every line may have taken the indentation.
    if known.after_frame or said.text.startswith(_FRAME):
        return _INDENT + said.text
    return said.text


def _frames_above(said: Said, above: Sequence[Said]) -> list[str]:
    """The lines of a stack right above a line of the same speaker, from its first frame on."""
    stack: list[str] = []
    for one in reversed([one for one in above if one.speaker == said.speaker]):
        if one.is_record or not (one.carried[:1] in {" ", "\t"} or one.carried.startswith(_FRAME)):
            break
        stack.insert(0, one.carried)
    first = next((at for at, text in enumerate(stack) if text.lstrip().startswith(_FRAME)), None)
    return [] if first is None else stack[first:]


def _boxed_above(said: Said, above: Sequence[Said]) -> list[str]:
    """The frames of a box that ends right above a line of the same speaker."""
    box = [one.carried for one in above if one.speaker == said.speaker]
    if not box or not box[-1].startswith(BOX_END):
        return []
    frames = filter(None, map(_BOXED.search, box))
    return [f'  File "{one.group(1)}", line {one.group(2)}, in {one.group(3)}' for one in frames]


def embedded(said: Said, *, line: int, offset: int) -> list[Found]:
    """The tracebacks inside one record, with real line ends or with those that were escaped."""
    start = said.text.find(HEADER)
    inside = said.text[start:] if start >= 0 else ""
    if "\n" not in inside:
        inside = inside.replace("\\n", "\n").replace('\\"', '"')
    if "\n" not in inside:
        return []
    reading = Tracebacks()
    found: list[Found] = []
    for number, text in enumerate(inside.split("\n")[:EMBEDDED_LINES_MAX]):
        one = Said(text=text, carried=text)
        found += reading.take(one, line=line, offset=offset + number)[0]
    found += reading.end()
    return [Found(one.traceback, said, line, one.offset, one.follows) for one in found]

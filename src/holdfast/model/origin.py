"""The exception that started it: behind wrappers, chains, boxes and tracebacks in messages."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from holdfast.model.facts import TracebackSeen
from holdfast.model.pattern import Pattern
from holdfast.model.steps import without_escapes
from holdfast.model.tracebacks import (
    HEADER,
    LINKS,
    Traceback,
    TracebackReader,
    own_frames,
    place_in,
)

DEPTH_MAX = 8  # wrappers around wrappers
LINES_MAX = 400  # of one message
TEXT_LENGTH_MAX = 200
_ELLIPSIS = "…"
# What AutoGraph puts before the lines of the program that it has translated.
IN_USER_CODE = "in user code:"
_FRAME = 'File "'
_MARGIN = Pattern(r"^ *\| ?")  # before the lines of an ExceptionGroup
_MEMBER = Pattern(r"^ *\+[-+]+ \d+ -+$")
_RULE = Pattern(r"^ *\+[-+]+(?: [\d.]+ -+)?$")
_SENT_ON = Pattern(r"(?:with the following error:|[Cc]allback:)$")
# What Keras puts around the message of what a layer raised.
_WRAPPED = Pattern(
    r"^Exception encountered when calling [^\n]+\n(?s:(.*?))"
    r"(?:\n\s*(?:Call a|A)rguments received by (?s:.*))?$"
)
_REPEATED = Pattern(r"^Caught \w+ in [\w ]+\.$")
_NODE = Pattern(r"^(?:\{\{[^{}]*\}\} ?|<stack traces unavailable>\s*|\[_Derived_\] ?)+")
_ROOTS = Pattern(r"^\d+ root error\(s\) found\.\s+\(0\) ?[A-Za-z_ ]+: +(?s:(.*))$")
_STATUS = Pattern(r"^(?:UNKNOWN|INTERNAL): (?:CpuCallback error calling callback: )?")
# An exception of Python, as the first words of what another library says.
_LED_BY = Pattern(r"^((?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Iteration))(?:: ([^\n]*))?$")
_DEFINED_AT = Pattern(r"\bdefined at ([^\s()]+:\d+)\)")
_SENT_FRAME = Pattern(r'File "([^"]+)", line (\d+), in (\S+)')  # without a header above it
_RAISES = Pattern(r": raise \S")
# These only show where something else was asked for, or hold it.
_SAYS_NOTHING = Pattern(
    r"(?:^|\.)(?:JaxStackTraceBeforeTransformation|UnfilteredStackTrace|SimplifiedTraceback"
    r"|(?:Base)?ExceptionGroup)$"
)
_OF_ITS_LIBRARY = Pattern(r"^(?:MultilineMessage(?P<kind>KeyError)|StagingError)$")
_GROUP = Pattern(r"(?:^|\.)(?:Base)?ExceptionGroup$")


class Raised(Protocol):
    """A traceback, whoever read it."""

    @property
    def exception(self) -> str: ...
    @property
    def message(self) -> str: ...
    @property
    def frames(self) -> tuple[str, ...]: ...


@dataclass(frozen=True, slots=True)
class Origin:
    """An exception, what it says, and the innermost line of the program that led to it."""

    exception: str  # without its module
    message: str  # one line
    frame: str = ""  # file:line function: code; empty: no line of the program is known
    is_embedded: bool = False  # it stood inside the message of another
    other: str = ""  # of a chain, what else was raised, and how they hang together

    @property
    def text(self) -> str:
        """`KeyError: 17`."""
        return f"{self.exception}: {self.message}" if self.message else self.exception

    @property
    def at(self) -> str:
        """`/home/user/train.py:9`; empty where no line is known."""
        return self.frame.partition(" ")[0]

    @property
    def place(self) -> str:
        """`train.py line 9`; empty where no line is known."""
        return place_in(self.frame)


def origin_of(raised: Raised) -> Origin:
    """What one traceback is about, behind everything that was put around it."""
    layers = _layers(Traceback(raised.exception, raised.message, tuple(raised.frames)))
    inner = layers[-1]
    frames = (_own_frame(layer) for layer in reversed(layers))
    exception = inner.exception.rpartition(".")[2]
    if found := _OF_ITS_LIBRARY.search(exception):
        exception = found.group("kind") or exception
    return Origin(
        exception=exception,
        message=_first_line(inner.message),
        frame=next(filter(None, frames), ""),
        is_embedded=len(layers) > 1,
    )


def origin_of_chain(chain: Sequence[Raised]) -> Origin:
    """What a chain is about, in the order in which Python prints it: the root, most often.

    What the program itself raised over something is told in its own words, with the root.
    """
    real = [one for one in chain if not _SAYS_NOTHING.search(one.exception)] or list(chain)
    origins = [origin_of(one) for one in real]
    root = origins[0]
    meant = [one for one, raised in zip(origins, real, strict=True) if _is_meant(raised)]
    told = meant[-1] if meant else root
    if told.text != root.text:
        return _with(told, f"; it was raised over {_whole(root)}")
    later = [one for one in origins if one.text != root.text]
    return _with(told, f"; after it came {_whole(later[-1])}" if later else "")


def chains_of(seen: Iterable[TracebackSeen]) -> list[list[TracebackSeen]]:
    """The tracebacks of one stream, each chain by itself, as Python prints it: the root first.

    Where a message quotes another traceback, that one stands in the place of the message's own.
    """
    chains: list[list[TracebackSeen]] = []
    for one in seen:
        if chains and one.follows:
            chains[-1].append(one)
        elif chains and is_quoted(chains[-1][-1], one):
            chains[-1][-1] = one
        else:
            chains.append([one])
    return chains


def quoted_by(seen: TracebackSeen, others: Iterable[TracebackSeen]) -> TracebackSeen | None:
    """The traceback right above one in the same stream, if its message goes on with this one."""
    above = [one for one in others if one.stream == seen.stream and one.offset < seen.offset]
    last = max(above, key=lambda one: one.offset, default=None)
    return last if last and not seen.follows and is_quoted(last, seen) else None


def is_quoted(outer: Raised, inner: Raised) -> bool:
    """Whether the traceback that follows another one is a part of that one's message."""
    last = outer.message.rstrip().rpartition("\n")[2]
    said = f"{inner.exception}: {inner.message}".partition("\n")[0]
    if _GROUP.search(outer.exception) or _SENT_ON.search(last) or _REPEATED.search(last):
        return True
    return last.endswith((HEADER, said.rstrip(": ")))


def _with(origin: Origin, other: str) -> Origin:
    return Origin(origin.exception, origin.message, origin.frame, origin.is_embedded, other)


def _whole(origin: Origin) -> str:
    return f"{origin.text}, at {origin.place}" if origin.place else origin.text


def _is_meant(raised: Raised) -> bool:
    """Whether the program raised it on purpose, in a line of its own."""
    return bool(own_frames(raised.frames[-1:]) and _RAISES.search(raised.frames[-1]))


def _own_frame(layer: Traceback) -> str:
    """The innermost line of the program; of a graph, the one that made the node that failed."""
    own = own_frames(layer.frames)
    if own and own[-1] == layer.frames[-1]:
        return own[-1]
    nodes = own_frames(found.group(1) for found in _DEFINED_AT.each(layer.message))
    sent = own_frames(
        f"{found.group(1)}:{found.group(2)} {found.group(3)}"
        for found in _SENT_FRAME.each(layer.message)
    )
    return next(iter((*nodes[:1], *sent[-1:], *own[-1:])), "")


def _layers(outer: Traceback) -> list[Traceback]:
    """What each wrapper holds, from the outermost to the one that holds nothing more."""
    layers = [outer]
    while len(layers) < DEPTH_MAX and (inner := _inside(layers[-1])):
        layers.append(inner)
    return layers


def _inside(outer: Traceback) -> Traceback | None:
    message = _plain(outer.message)
    lines = message.split("\n")[:LINES_MAX]
    return (
        _quoted(lines, outer)
        or _translated(lines)
        or _unwrapped(message, outer)
        or _led_by(message)
    )


def _plain(message: str) -> str:
    """With real line ends, and no colours; a KeyError shows its text as Python would write it."""
    text = message
    if "\n" not in text and "\\n" in text:
        text = text.strip("'\"").replace("\\n", "\n").replace("\\x1b", "\x1b").replace("\\'", "'")
    return without_escapes(text)


def _quoted(lines: list[str], outer: Traceback) -> Traceback | None:
    """The first traceback in a message, where it has frames: of another process, or of a box."""
    boxed = any(map(_MEMBER.search, lines))
    plain = [_without_margin(line) for line in lines if not _RULE.search(line)] if boxed else lines
    start = next((at for at, line in enumerate(plain) if line.rstrip().endswith(HEADER)), None)
    if start is None:
        return None
    found = list(_tracebacks(plain[start:]))
    if not found:
        return None
    found = found[:1] if boxed else found  # the members of a group do not hang together
    chosen = origin_of_chain(found)
    root = next((one for one in found if origin_of(one).text == chosen.text), found[0])
    is_new = root.frames and (root.exception, root.message) != (outer.exception, outer.message)
    return root if is_new else None


def _tracebacks(lines: list[str]) -> Iterator[Traceback]:
    """Those of one chain."""
    reader: TracebackReader | None = None
    indent = 0
    for line in lines:
        if line.rstrip().endswith(HEADER):
            if reader and (found := reader.result()):
                yield found
            reader, indent = TracebackReader(), len(line) - len(line.lstrip())
        elif reader is not None and line not in LINKS:
            reader.take(line[indent:] if not line[:indent].strip() else line)
    if reader and (found := reader.result()):
        yield found


def _without_margin(line: str) -> str:
    margin = _MARGIN.search(line)
    return line[margin.end() :] if margin else line


def _translated(lines: list[str]) -> Traceback | None:
    """What AutoGraph says of the program's own lines."""
    start = next((at for at, line in enumerate(lines) if line.strip() == IN_USER_CODE), None)
    if start is None:
        return None
    below = lines[start + 1 :]
    first = next((line for line in below if line.strip()), "")
    indent = len(first) - len(first.lstrip())
    reader = TracebackReader()
    for line in below:
        plain = line[indent:] if not line[:indent].strip() else line
        # Behind the name of a function that was translated stand one or two stars.
        reader.take(plain.rstrip("* ") if plain.lstrip().startswith(_FRAME) else plain)
    return reader.result() if reader.frames else None


def _unwrapped(message: str, outer: Traceback) -> Traceback | None:
    found = _WRAPPED.search(message.strip())
    inner = found.group(1).strip() if found else ""
    return Traceback(outer.exception, inner, ()) if inner else None


def _led_by(message: str) -> Traceback | None:
    """An exception of Python whose name and text are all that is left of it."""
    text = _without_status(message)
    found = _LED_BY.search(text.partition("\n")[0].rstrip())
    return Traceback(found.group(1), found.group(2) or "", ()) if found else None


def _without_status(message: str) -> str:
    text = message.strip()
    if roots := _ROOTS.search(text):
        text = roots.group(1)
    for pattern in (_NODE, _STATUS):
        if found := pattern.search(text):
            text = text[found.end() :]
    return text.strip()


def _first_line(message: str) -> str:
    """What it says, without where in a graph, and without that it was caught elsewhere."""
    lines = (line.strip() for line in _without_status(_plain(message)).split("\n"))
    said = next((line for line in lines if line and not _REPEATED.search(line)), "")
    said = said or message.strip().partition("\n")[0]
    return said if len(said) <= TEXT_LENGTH_MAX else said[: TEXT_LENGTH_MAX - 1] + _ELLIPSIS

"""Reads Python tracebacks out of a stream of lines, one after another."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from holdfast.model.pattern import Pattern

HEADER = "Traceback (most recent call last):"
FRAMES_MAX = 200
CODE_LENGTH_MAX = 200
MESSAGE_LINES_MAX = 40  # that stand on their own; what is indented belongs to the one above it
INDENTED_LINES_MAX = 160
MESSAGE_LENGTH_MAX = 8_000

_INSTALLED = Pattern(
    r"[/\\](?:site|dist)-packages[/\\]|/lib/python[23]|\\lib\\|^<(?:frozen |string>|__array_)"
    r"|\.(?:pyx|pxi|pxd):\d|__autograph_generated_file\w*\.py:\d"
)
_OF_A_GROUP = "  | "  # in front of every line of an ExceptionGroup
_FRAME = Pattern(r'^\s*File "([^"]*)", line (\d+)(?:, in (.*))?$')
_UNINDENTED = 'File "'
_RAISED = Pattern(r"^[A-Za-z_][\w.]*(?:Error|Exception|Interrupt|Exit|Iteration|Warning)(?::|$)")
# A frame as it is kept. The path may have blanks; of a SyntaxError there is no function.
_PLACE = Pattern(r"^(?:.*[/\\])?([^/\\]+?):(\d+)(?:[ :]|$)")
# With another in brackets, as Ray has it: RayTaskError(ValueError).
_EXCEPTION = Pattern(r"^([A-Za-z_][\w.]*(?:\([A-Za-z_][\w.]*\))?)(?:: ?(.*))?$")
# What certainly is not a continuation of an exception's message.
_NEXT_RECORD = Pattern(
    r"^(?:[IWEF]\d{4} |\d{4}-\d\d-\d\d[ T]|(?:DEBUG|INFO|WARNING|ERROR|CRITICAL):"
    r"|Traceback \(most recent|During handling of the above|The above exception was"
    r"|Exception ignored in|Exception in thread |-{70,}$)"
)
# TensorFlow puts where a graph's node was defined, again and again, before what went wrong.
_GRAPH_NOISE = Pattern(
    r"^(?:Graph execution error:|Detected at node .*|<stack traces unavailable>"
    r'|  File ".*", line \d+, in .*|\s*)$'
)
_NODE = "Detected at node"
# The same of several nodes that failed: elsewhere, frames so far to the right are a tf.function's.
_NODES_NOISE = Pattern(r"""^(?:    File ".*", line \d+, in .*|Node: '.*'|={10,})$""")
# What stands between two tracebacks of one chain.
LINKS = {
    "The above exception was the direct cause of the following exception:": "cause",
    "During handling of the above exception, another exception occurred:": "context",
}


@dataclass(frozen=True, slots=True)
class Traceback:
    exception: str
    message: str
    frames: tuple[str, ...]  # file:line function: code


@dataclass(slots=True)
class TracebackReader:
    """Fed with the lines after a header. `take` says whether it wants more."""

    frames: list[str] = field(default_factory=list)
    exception: str = ""
    message: list[str] = field(default_factory=list)
    spoiled: bool = False
    is_flat: bool = False  # somebody took the indentation away: below a frame stands its code
    indented: int = 0  # lines of the message
    nodes: int = 0  # of TensorFlow's graph, that it speaks of
    defined_at: str = ""  # the program's innermost line that made the first of them

    def take(self, line: str) -> bool:
        """Consume a line; False when it belongs to something else."""
        if self.exception:
            return self._take_message(line)
        line = line.removeprefix(_OF_A_GROUP)
        if line[:1] in {" ", "\t"} or not line or _FRAME.search(line):
            self.is_flat = line.startswith(_UNINDENTED)
            self._take_frame(line)
            return True
        if self.is_flat and not _RAISED.search(line):
            self.is_flat = False
            self._take_frame(line)
            return True
        found = _EXCEPTION.search(line)
        if not found or _NEXT_RECORD.search(line):
            self.spoiled = True
            return False
        self.exception = found.group(1)
        self.keep(found.group(2) or "")
        return True

    def _take_frame(self, line: str) -> None:
        """A frame's place, or below it its code. Of too many, those in the middle go."""
        if frame := _FRAME.search(line):
            if len(self.frames) == FRAMES_MAX:
                del self.frames[FRAMES_MAX // 2]
            where = f"{frame.group(1)}:{frame.group(2)}"
            self.frames.append(f"{where} {frame.group(3) or ''}".rstrip())
        elif self.frames and ": " not in self.frames[-1] and line.strip(" ^~"):
            self.frames[-1] += f": {line.strip()[:CODE_LENGTH_MAX]}"

    def _take_message(self, line: str) -> bool:
        if _NEXT_RECORD.search(line) or not self.has_room:
            return False
        self.keep(line)
        return True

    @property
    def has_room(self) -> bool:
        """Whether its message may have one more line."""
        alone = len(self.message) - self.indented
        return alone < MESSAGE_LINES_MAX and self.indented < INDENTED_LINES_MAX

    def keep(self, line: str) -> None:
        """Of a message that quotes another process's traceback, the frames tell, too."""
        quotes = any(HEADER in kept for kept in self.message)
        noise = _GRAPH_NOISE.search(line) or (self.nodes and _NODES_NOISE.search(line))
        if quotes or not noise:
            self.message.append(line)
            self.indented += line[:1] in {" ", "\t"}
            return
        self.nodes += line.startswith(_NODE)
        frame = _FRAME.search(line)
        where = f"{frame.group(1)}:{frame.group(2)}" if frame else ""
        if where and self.nodes == 1 and own_frames([where]):
            self.defined_at = where

    def text(self) -> str:
        """The message, and where the program made the node that failed."""
        made = f"\n(defined at {self.defined_at})" if self.defined_at else ""
        return "\n".join(self.message).strip()[:MESSAGE_LENGTH_MAX] + made

    def result(self) -> Traceback | None:
        """What was read, once the exception's own line has come."""
        if not self.exception or self.spoiled:
            return None
        return Traceback(self.exception, self.text(), tuple(self.frames))


def without_graph_noise(message: str) -> str:
    """What went wrong, without where TensorFlow's graph was made."""
    kept = TracebackReader()
    for line in message.split("\n"):
        if kept.has_room:
            kept.keep(line)
    return kept.text()


def place_in(frame: str) -> str:
    """`train.py line 9`, of a frame."""
    found = _PLACE.search(frame.partition(": ")[0])
    return f"{found.group(1)} line {found.group(2)}" if found else ""


def own_frames(frames: Iterable[str]) -> list[str]:
    """Those of the user's own program, outermost first: not of what was installed."""
    return [frame for frame in frames if not _INSTALLED.search(frame)]

"""What logs say, record by record: a message of several lines is one fact."""

from collections.abc import Iterable
from dataclasses import replace

from holdfast.model.facts import Fact, LogLine, TracebackSeen
from holdfast.model.log_prefix import said_in
from holdfast.model.noise import is_noise
from holdfast.model.pattern import Pattern

RECORD_LENGTH_MAX = 8_000
NEAR_LINES = 2  # an empty line may stand between
# What programs write below the line that they began: who failed, and where.
GOES_ON = Pattern(
    r"^(?:\s+\S|\[\d+\]:|Additional GRPC error information|:\{|:[A-Z_]+:|/job:[a-z]"
    r"|The tasks have crashed|(?:Missing|Stalled) ranks:|\d+: \[|Timed out task names:|RPC: /"
    r"|0x[0-9a-f]{8,} in )"
)
# The lines below a message that are worth reading for the sake of those above them.
ALSO_BELOW = (
    Pattern(r"Additional GRPC error information from remote target"),
    Pattern(r"^/job:[a-z]+/replica:\d+/task:\d+"),
    Pattern(r"^\s+\[\[(?:\{\{node|[Nn]ode:?) "),
    Pattern(r"^0x[0-9a-f]{8,} in \S+ \(.*\) from \S"),
    Pattern(r"^RPC: /tensorflow\.|^(?:Missing|Stalled) ranks:|^\d+: \["),
)


def records(facts: Iterable[Fact]) -> list[LogLine | TracebackSeen]:
    """The lines and tracebacks in their order, without noise, each with what belongs to it."""
    found: list[LogLine | TracebackSeen] = []
    last_line: dict[str, int] = {}  # of each file, while its newest record may go on
    open_at: dict[str, int] = {}
    for fact in facts:
        if not isinstance(fact, LogLine | TracebackSeen):
            continue
        if isinstance(fact, TracebackSeen):
            open_at.pop(fact.source, None)
            found.append(fact)
            continue
        begun = open_at.get(fact.source)
        near = fact.line - last_line.get(fact.source, 0) <= NEAR_LINES
        if begun is not None and near and _goes_on(fact):
            found[begun] = _joined(found[begun], fact)
        elif not is_noise(fact.text):
            open_at[fact.source] = len(found)
            found.append(fact)
        else:
            open_at.pop(fact.source, None)
        last_line[fact.source] = fact.line
    return found


def text_of(fact: Fact) -> str:
    """Everything that a record says."""
    match fact:
        case LogLine():
            return fact.text
        case TracebackSeen():
            return f"{fact.exception}: {fact.message}"
    return ""


def in_short(text: str, *, length_max: int = 200) -> str:
    """The first line of a record, without times, levels and places in somebody's source."""
    line = text.strip().partition("\n")[0].strip()
    plain = said_in(line).text.strip() or line
    return plain if len(plain) <= length_max else plain[: length_max - 1] + "…"


def _goes_on(line: LogLine) -> bool:
    return GOES_ON.search(line.text) is not None


def _joined(begun: LogLine | TracebackSeen, line: LogLine) -> LogLine | TracebackSeen:
    if isinstance(begun, TracebackSeen) or len(begun.text) > RECORD_LENGTH_MAX:
        return begun
    return replace(begun, text=f"{begun.text}\n{line.text}")

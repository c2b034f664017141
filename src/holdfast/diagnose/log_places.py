"""What is to blame where it is no task: a line of a program, an address, a host."""

from holdfast.model.facts import LogLine, TracebackSeen
from holdfast.model.pattern import Pattern
from holdfast.model.tracebacks import own_frames

# Causes of these families lie at an address: who could not be reached, or what is taken.
AT_AN_ADDRESS = frozenset(
    {
        *("connection-refused", "network-unreachable", "dns-failure", "proxy-interference"),
        *("port-conflict", "nccl-network", "hdfs-access"),
    }
)
_INTERRUPT = Pattern(r"^(?:KeyboardInterrupt|SystemExit)$")  # not the doing of the line it met
# The traceback that another process sent, inside a message.
_INNER_FRAME = Pattern(r'File "([^"]+)", line (\d+), in (\S+)')
_PORT = r"[0-9]{2,5}"
# The most exact first. A file and its line are no address, though both have a colon.
_ADDRESSES = (
    Pattern(rf"ipv[46]:(\[[0-9a-fA-F:.]+\]:{_PORT}|[0-9.]+:{_PORT})"),
    Pattern(rf"[a-z]{{3,6}}://([A-Za-z0-9][\w.-]*:{_PORT})"),
    Pattern(rf"\b((?:[0-9]{{1,3}}\.){{3}}[0-9]{{1,3}}:{_PORT})\b"),
    Pattern(r"host='([\w.-]+)', port="),
    Pattern(r"\('([\w.-]+)', [0-9]{2,5}\)"),
    Pattern(r"\bhost ([A-Za-z0-9][\w.-]*) port [0-9]+"),
    Pattern(r"\b([A-Za-z][\w-]*(?:\.[\w-]+)*:[0-9]{4,5})\b"),
    Pattern(r"\b((?:[0-9]{1,3}\.){3}[0-9]{1,3})\b"),
)
_SOURCE = Pattern(r"\.(?:cc|cpp|cu|c|h|hpp|py|java|scala|go|rs):[0-9]+$")


def place_of(seen: LogLine | TracebackSeen) -> str:
    """`train.py line 9`: the innermost frame of the user's own, of the process that failed."""
    if isinstance(seen, LogLine) or _INTERRUPT.search(seen.exception):
        return ""
    inner = [f"{found.group(1)}:{found.group(2)} " for found in _INNER_FRAME.each(seen.message)]
    frames = own_frames(inner) or own_frames(seen.frames) or list(seen.frames)
    if not frames:
        return ""
    file, _, line = frames[-1].partition(" ")[0].rpartition(":")
    return f"{file.rpartition('/')[2]} line {line}"


def address_in(text: str) -> str:
    """The first address that a text speaks of; empty where it names none."""
    found = (match.group(1) for pattern in _ADDRESSES for match in pattern.each(text))
    return next((address for address in found if not _SOURCE.search(address)), "")

"""What is to blame where it is no task: a line of a program, an address, a host."""

from holdfast.model.facts import LogLine, TracebackSeen
from holdfast.model.origin import origin_of
from holdfast.model.pattern import Pattern
from holdfast.model.tracebacks import own_frames, place_in

# Causes of these families lie at an address: who could not be reached, or what is taken.
AT_AN_ADDRESS = frozenset(
    {
        *("connection-refused", "network-unreachable", "dns-failure", "proxy-interference"),
        *("port-conflict", "nccl-network", "hdfs-access"),
    }
)
IN_A_DEVICE = frozenset({"oom-accelerator", "gpu-fault"})
_INTERRUPT = Pattern(r"^(?:KeyboardInterrupt|SystemExit)$")  # not the doing of the line it met
_DEFINED_AT = Pattern(r"\bdefined at ([^\s()]+:\d+)\)")
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
# How TensorFlow, CUDA and PyTorch name a device, the most exact first.
_DEVICES = (
    Pattern(r"StreamExecutor for (CUDA:\d+)\b"),
    Pattern(r"/device:(?:XLA_)?([GT]PU:\d+)\b"),
    Pattern(r"/task:\d+/(gpu:\d+)\b"),
    Pattern(r"\b(CUDA device ordinal \d+)"),
    Pattern(r"\b(cuda:\d+)\b"),
    Pattern(r"\b(GPU[ :]\d+)\b"),
    Pattern(r"\b(TPU v\d\w*-\d+)"),
)
_SOURCE = Pattern(r"\.(?:cc|cpp|cu|c|h|hpp|py|java|scala|go|rs):[0-9]+$")


def place_of(seen: LogLine | TracebackSeen) -> str:
    """`train.py line 9`: the innermost frame of the user's own, of the process that failed.

    Without such a frame, where the operation was defined that failed.
    """
    if isinstance(seen, LogLine):
        return _defined_at(seen.text)
    if _INTERRUPT.search(seen.exception):
        return ""
    return origin_of(seen).place


def _defined_at(message: str) -> str:
    """Where the program defined the node that TensorFlow complains about."""
    places = own_frames(found.group(1) for found in _DEFINED_AT.each(message))
    return place_in(places[0]) if places else ""


def address_in(text: str) -> str:
    """The first address that a text speaks of; empty where it names none."""
    found = (match.group(1) for pattern in _ADDRESSES for match in pattern.each(text))
    return next((address for address in found if not _SOURCE.search(address)), "")


def device_in(text: str) -> str:
    """The device that a text speaks of; empty where it names none."""
    return next((found.group(1) for each in _DEVICES if (found := each.search(text))), "")

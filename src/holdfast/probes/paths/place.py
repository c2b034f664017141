"""A place to look at, and how many may be looked at together."""

import os
import resource
from dataclasses import dataclass

from holdfast.model.cluster import TaskId

_DESCRIPTORS_KEPT = 48  # for the rest of us, and for what gRPC and threads open meanwhile
_DESCRIPTORS_EACH = 2  # a socket, and gRPC's own


@dataclass(frozen=True, slots=True)
class Place:
    address: str  # host:port, as the definition has it
    target: TaskId | None = None  # whom it expects there


def at_once(wanted_max: int) -> int:
    """How many sockets may be open together: as wanted, or as the limit on files allows."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return max(1, wanted_max)
    try:
        used = len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - only their number
    except OSError:
        used = _DESCRIPTORS_KEPT
    room = (soft - used - _DESCRIPTORS_KEPT) // _DESCRIPTORS_EACH
    return max(1, min(wanted_max, room))

"""Holds a writer up for a moment where its logs would be written to the disk for nothing.

Logs of the central way live for seconds: who takes their rows over removes them, and as a rule
the kernel never writes them. When more waits in its memory than it likes, it does, and the disk is
busy with what nobody needs. A writer that is ahead then waits a little, and rows arrive earlier.
"""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

PAUSE_S_MAX: Final = 0.2  # for each log
STANDS_S: Final = 1.0  # without a log taken over, it is not worth to wait
AHEAD_BYTES: Final = 128 << 20  # who is not further ahead than this is not who fills the memory
_LOOK_S: Final = 0.01
_CROWDED: Final = 0.5  # of what the kernel lets wait before it begins to write
_VMSTAT: Final = Path("/proc/vmstat")


class Backlog(NamedTuple):
    """What of one writer is not taken over yet."""

    nbytes: int
    oldest: str  # the name of its oldest log


class Pace:
    """Of one writer. Rows that nobody takes over are not waited for."""

    def __init__(self, look: Callable[[], Backlog]) -> None:
        self._look = look
        self._oldest = ""
        self._moved_s = 0.0

    def wait(self) -> None:
        """Before a new log: returns at once, but where the memory is crowded and rows move."""
        until_s = time.monotonic() + PAUSE_S_MAX
        while self._is_ahead() and time.monotonic() < min(until_s, self._moved_s + STANDS_S):
            time.sleep(_LOOK_S)

    def _is_ahead(self) -> bool:
        seen = self._look()
        if seen.oldest != self._oldest:
            self._oldest, self._moved_s = seen.oldest, time.monotonic()
        return seen.nbytes > AHEAD_BYTES and is_crowded()


def is_crowded(vmstat: Path = _VMSTAT) -> bool:
    """Whether the kernel is about to write what waits in its memory."""
    try:
        fields = dict(line.split(" ", 1) for line in vmstat.read_text().splitlines())
        waits, begins = int(fields["nr_dirty"]), int(fields["nr_dirty_background_threshold"])
    except (OSError, ValueError, KeyError):
        return False
    return waits > _CROWDED * begins

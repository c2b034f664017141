"""Supervise a new job, or one that its supervisor left."""

import contextlib
import os
import signal
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from holdfast.agent.hold import keep_to_ourselves
from holdfast.logdir.run_dir import open_run_dir
from holdfast.supervisor.holding_on import supervise, take_over

RESUME = "--resume"
STREAMS_LAST = 2  # standard input, output and error


def main() -> None:
    """Supervise the job whose plan comes on standard input, or one that its supervisor left."""
    # The terminal's signals are the front's to translate; a hang-up is not the job's end.
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGPIPE):
        signal.signal(number, signal.SIG_IGN)
    claims = [int(name) for name in os.listdir("/proc/self/fd") if int(name) > STREAMS_LAST]  # noqa: PTH208
    keep_to_ourselves()
    if sys.argv[1] == RESUME:
        return take_over(open_run_dir(Path(sys.argv[2])))
    order = sys.stdin.buffer.read()
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    return supervise(order, files_max=int(sys.argv[1]), claims=[*_that_are_open(claims)])


def _that_are_open(fds: Iterable[int]) -> Iterator[int]:
    """Without the one by which they were listed."""
    for fd in fds:
        with contextlib.suppress(OSError):
            os.fstat(fd)
            yield fd


if __name__ == "__main__":
    main()

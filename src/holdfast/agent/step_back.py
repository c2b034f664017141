"""Processes of ours that can wait take only what nobody else wants."""

import os
import time
from pathlib import Path

NICENESS = 19
AUTOGROUP_TRIES, AUTOGROUP_PAUSE_S = 5, 0.11


def step_back() -> None:
    """Take only what nobody else wants of the cores.

    Where the kernel groups processes by session (autogroup), niceness counts only within the
    session, and each session gets the same share: ours must be a small one.
    """
    os.nice(NICENESS)
    for _ in range(AUTOGROUP_TRIES):
        try:
            Path("/proc/self/autogroup").write_text(str(NICENESS))
        except BlockingIOError:  # the kernel takes one such wish at a time
            time.sleep(AUTOGROUP_PAUSE_S)
        except OSError:  # no such grouping here, or not for us
            return
        else:
            return

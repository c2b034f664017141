"""Children of a task that died of a signal, as long as nobody has asked how they ended.

A task need not wait for its children, and most launchers wait for one after the other: who has
died before its turn stays in the process table, and how it ended with it.
"""

import signal
from collections.abc import Iterator

from holdfast.agent.aftermath import Where
from holdfast.agent.running_task import RunningTask
from holdfast.model.facts import Fact
from holdfast.model.signals import CRASHES
from holdfast.model.watch_facts import ChildDied
from holdfast.probes.process import Children, command_of, end_status_of, offspring

TOLD_MAX = 20  # of one task
CORE_DUMPED = 0x80  # of a status as wait(2) has it
SIGNAL_BITS = 0x7F


def dead_children(where: Where, running: RunningTask, children: Children) -> Iterator[Fact]:
    """Those that crashed, each once. Any other signal may have been sent by the task itself."""
    for process in offspring(running.pid, children):
        is_new = process.state == "Z" and process.pid not in running.dead
        if not is_new or len(running.dead) >= TOLD_MAX:
            continue
        status = end_status_of(process)
        if status & SIGNAL_BITS in CRASHES:
            running.dead.add(process.pid)
            yield ChildDied(
                pid=process.pid,
                process=command_of(process.pid),
                signal=signal.Signals(status & SIGNAL_BITS),
                core_dumped=bool(status & CORE_DUMPED),
                **where,
            )

"""A child that crashed is told while nobody has asked how it ended; one that was ended is not."""

import os
import signal
import subprocess
import sys

from holdfast.agent.dead_children import dead_children
from holdfast.agent.running_task import RunningTask
from holdfast.model.cluster import TaskId
from holdfast.model.plan import PlannedTask
from holdfast.model.watch_facts import ChildDied
from holdfast.probes.process import children_by_parent

WORKER = TaskId("worker", 0)
WHERE = {"at_s": 1.0, "host": "host-a", "task": WORKER}
DIE = "import os, resource; resource.setrlimit(resource.RLIMIT_CORE, (0, 0)); "


def test_only_a_child_that_crashed_is_told_and_once() -> None:
    children = [
        subprocess.Popen([sys.executable, "-c", f"{DIE}{how}"])
        for how in ("os.abort()", "os._exit(1)", f"os.kill(os.getpid(), {signal.SIGTERM:d})")
    ]
    try:
        for child in children:  # it ends, and its parent asks no more than that
            os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        planned = PlannedTask(task=WORKER, command=("python",), address="", env={})
        running = RunningTask(planned, os.getpid(), -1, {})
        found = list(dead_children(WHERE, running, children_by_parent()))
        again = list(dead_children(WHERE, running, children_by_parent()))
    finally:
        for child in children:
            child.wait()
    (crashed,) = found
    assert isinstance(crashed, ChildDied)
    assert (crashed.pid, crashed.signal) == (children[0].pid, signal.SIGABRT)
    assert crashed.process.startswith("python")
    assert again == []

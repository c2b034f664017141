"""Who has nothing to do, told from who has, and gets no core for it."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from holdfast.agent.idle import CPU_SHARE_MAX, IdleWatch
from holdfast.probes.activity import Surroundings, activities, take_sample
from holdfast.probes.process import children_by_parent, stat_of

IDLE_S, LOOK_S, TRIES = 0.6, 0.3, 10
SPIN = "import os; os.sched_setaffinity(0, {%d}); %s\nwhile True: pass"
BACKGROUND = "os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))"


@contextmanager
def running(code: str) -> Iterator[int]:
    with subprocess.Popen([sys.executable, "-c", code]) as process:
        try:
            time.sleep(0.5)  # it has begun
            yield process.pid
        finally:
            process.kill()


def looks(pid: int, over_s: float) -> IdleWatch:
    watch = IdleWatch(pid, output_bytes=lambda: 0, timers_count=False, idle_s=IDLE_S)
    until_s = time.monotonic() + over_s
    while time.monotonic() < until_s:
        watch.look(time.monotonic(), children_by_parent())
        time.sleep(LOOK_S)
    return watch


def test_who_sleeps_is_idle() -> None:
    with running("import time; time.sleep(60)") as pid:
        assert looks(pid, 1.5).is_idle


def test_who_gets_no_core_is_not_idle() -> None:
    """One spins at the lowest priority beside another on the same core: it gets next to nothing."""
    core = min(os.sched_getaffinity(0))
    with running(SPIN % (core, BACKGROUND)) as pid, running(SPIN % (core, "")):
        for _ in range(TRIES):
            before_s = stat_of(pid)
            seen = take_sample([pid])
            watch = looks(pid, 1.5)
            (does,) = activities(seen, take_sample([pid]), Surroundings({}))
            after_s = stat_of(pid)
            assert before_s is not None
            assert after_s is not None
            if after_s.cpu_s - before_s.cpu_s < CPU_SHARE_MAX * 1.5:
                break
        else:
            pytest.fail("this core was never hogged")
        assert not watch.is_idle
        assert does.starved_share > 0.3

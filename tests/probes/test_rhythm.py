"""The main threads of real processes: who wakes, who runs, who waits for whom."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest

from holdfast.probes.rhythm import Rhythm, rhythm_of, starved_s

# Each does its first thing, says so, and goes on for ever.
SLEEPS = "import time; print(1, flush=True)\nwhile True: time.sleep(0.005)"
RUNS = "print(1, flush=True)\nwhile True: pass"
BLOCKED = "import threading; lock = threading.Lock(); lock.acquire(); print(1, flush=True)\n"
BLOCKED += "lock.acquire()"
Start = Callable[[str], int]
TRIES_MAX = 100_000


@pytest.fixture
def start() -> Iterator[Start]:
    processes = []

    def one(program: str) -> int:
        process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE)
        processes.append(process)
        assert process.stdout is not None
        process.stdout.readline()
        return process.pid

    yield one
    for process in processes:
        process.kill()
        process.communicate()


def until(pid: int, is_true: Callable[[Rhythm], bool]) -> Rhythm:
    """Bounded by the test's own time-out."""
    while (found := rhythm_of(pid)) and not is_true(found):
        os.sched_yield()
    assert found is not None
    return found


def test_a_main_thread_that_sleeps_in_its_own_code_wakes_again_and_again(start: Start) -> None:
    pid = start(SLEEPS)
    first = until(pid, lambda now: now.waits_in != "")
    later = until(pid, lambda now: now.wakes >= first.wakes + 5)
    assert later.run_ns >= first.run_ns
    assert not until(pid, lambda now: now.waits_in != "").waits_for_waker


def test_a_main_thread_in_a_deadlock_never_wakes(start: Start) -> None:
    pid, other = start(BLOCKED), start(SLEEPS)
    blocked = until(pid, lambda now: now.waits_for_waker)
    assert blocked.state == "S"
    before = rhythm_of(other)
    assert before is not None
    until(other, lambda now: now.wakes >= before.wakes + 20)
    assert rhythm_of(pid) == blocked


def test_a_main_thread_that_runs_is_known_by_its_time_on_a_core(start: Start) -> None:
    pid = start(RUNS)
    first = until(pid, lambda now: now.state == "R")
    later = until(pid, lambda now: now.run_ns > first.run_ns + 50_000_000)
    assert later.wakes - first.wakes < 20


def test_a_process_that_is_gone_tells_nothing() -> None:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    assert rhythm_of(process.pid) is None


@pytest.mark.parametrize(
    ("state", "run_ns", "starved_ns", "expected_s"),
    [
        ("R", 5, 7, 2.0),  # it has not run since: the kernel has not counted anything yet
        ("R", 6, 1_000_000_007, 1.0),
        ("S", 5, 7, 0.0),
    ],
)
def test_who_wants_a_core_and_gets_none_is_starved(
    state: str, run_ns: int, starved_ns: int, expected_s: float
) -> None:
    before = Rhythm("R", wakes=0, preempted=0, run_ns=5, starved_ns=7, waits_in="")
    now = Rhythm(state, wakes=0, preempted=0, run_ns=run_ns, starved_ns=starved_ns, waits_in="")
    assert starved_s(before, now, 2.0) == expected_s

"""What real processes use, as the kernel counts it."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from holdfast.probes import held, usage

CPU = Path("/sys/fs/cgroup/cpu")
BUSY = "while True: sum(range(10_000))"
SLEEPS = "import time\nprint('up', flush=True)\ntime.sleep(600)"
Child = Callable[[str], "subprocess.Popen[bytes]"]


@pytest.fixture
def child() -> Iterator[Child]:
    started: list[subprocess.Popen[bytes]] = []

    def start(code: str) -> "subprocess.Popen[bytes]":
        process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def until(happens: Callable[[], object], *, within_s: float = 20.0) -> None:
    end_s = time.monotonic() + within_s
    while not happens():
        assert time.monotonic() < end_s, "it never happened"
        time.sleep(0.01)


def listening_to(process: "subprocess.Popen[bytes]") -> bytes:
    assert process.stdout is not None
    return process.stdout.readline()


def test_a_busy_process_uses_a_core_and_an_idle_one_none(child: Child) -> None:
    busy, idle = child(BUSY), child(SLEEPS)
    listening_to(idle)
    before = usage.process_use(idle.pid)
    until(lambda: (used := usage.process_use(busy.pid)) and used.cpu_s > 0.2)
    after = usage.process_use(idle.pid)
    assert before
    assert after
    assert after.cpu_s - before.cpu_s < 0.1
    assert after.state == "S"
    assert after.threads == 1
    assert after.rss_bytes > 1 << 20


def test_a_thread_tells_what_it_ran_and_what_it_wanted(child: Child) -> None:
    busy = child(BUSY)
    until(lambda: (used := usage.thread_use(busy.pid)) and used.on_core_s > 0.1)
    main, everybody = usage.thread_use(busy.pid), usage.all_threads_use(busy.pid)
    assert main
    assert everybody.on_core_s >= main.on_core_s
    assert everybody.wanted_s >= 0


def test_open_files_are_counted(child: Child) -> None:
    code = f"import os\nfs = [os.dup(0) for _ in range(20)]\n{SLEEPS}"
    process = child(code)
    listening_to(process)
    assert usage.open_files([process.pid]) == 23
    assert usage.open_files([process.pid, 0]) == 23


def test_of_a_process_that_is_gone_nothing_is_known(child: Child) -> None:
    process = child("pass")
    process.wait()
    assert usage.process_use(process.pid) is None
    assert usage.thread_use(process.pid) is None
    assert usage.open_files([process.pid]) == 0
    assert usage.throttled(process.pid) is None
    assert held.ran(process.pid) is None
    assert held.frozen_cgroup(process.pid) == ""
    assert held.tracer_of(process.pid) == ""
    assert held.file_waited_for(process.pid) == ""


def test_the_file_of_a_read_that_waits_is_named(child: Child, tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    process = child(f"import os\nf = os.open({str(fifo)!r}, os.O_RDWR)\nos.read(f, 1)")
    until(lambda: held.file_waited_for(process.pid) == str(fifo))


@pytest.mark.skipif(
    not os.access(CPU / "cgroup.procs", os.W_OK), reason="only root may set a CPU quota"
)
def test_a_quota_that_keeps_a_process_from_running_is_seen(child: Child) -> None:
    cgroup = CPU / f"holdfast-test-{os.getpid()}"
    cgroup.mkdir()
    process = child(BUSY)
    try:
        (cgroup / "cpu.cfs_quota_us").write_text("5000")
        (cgroup / "cpu.cfs_period_us").write_text("100000")
        (cgroup / "cgroup.procs").write_text(str(process.pid))
        until(lambda: (found := usage.throttled(process.pid)) and found.times > 2)
        found = usage.throttled(process.pid)
        assert found
        assert (found.cores, found.period_s) == (0.05, 0.1)
        assert found.cgroup == f"cpu/{cgroup.name}"
        assert found.throttled_s > 0
    finally:
        (CPU / "cgroup.procs").write_text(str(process.pid))
        cgroup.rmdir()

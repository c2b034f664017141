"""What is done to a running task from outside; what must be undone is left with the job."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from bench.network import Network
from bench.struck import StruckJob, cmdline_of, state_of

PAUSE_S = 2.0
QUOTA_US, PERIOD_US = 5_000, 100_000
HOGS_A_CORE = 3
HOG = "while True: pass"
ATTACH_S_MAX = 20.0
LOSS, DELAY_S = 0.2, 0.2
FILL_BYTES = 1 << 16
OUR_OWN = (b"holdfast.supervisor", b"holdfast.agent.")


def signalled(name: str) -> Callable[[StruckJob, str], None]:
    def do(job: StruckJob, task: str) -> None:
        pid = job.main_pid(task)
        os.kill(pid, signal.Signals[name])
        if name == "SIGSTOP":
            job.undo.callback(_go_on, pid)

    return do


def paused(job: StruckJob, task: str) -> None:
    _pause([job.main_pid(task)], job)


def supervisor_paused(job: StruckJob, _task: str) -> None:
    _pause(our_own(job), job)


def _pause(pids: list[int], job: StruckJob) -> None:
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
        job.undo.callback(_go_on, pid)
    job.until(lambda: False, PAUSE_S)
    for pid in pids:
        _go_on(pid)


def our_own(job: StruckJob) -> list[int]:
    """The supervisor of a job and its children, but no task."""
    tasks = {job.pid(task) for task in job.stage.tasks}
    mark = str(job.run_dir).encode()
    found = []
    for place in Path("/proc").iterdir():
        if place.name.isdigit() and int(place.name) not in tasks:
            words = cmdline_of(int(place.name))
            ours = any(module in words for module in OUR_OWN)
            parent = _parent(int(place.name))
            if ours and (parent == job.front.pid or mark in words):
                found.append(int(place.name))
    return found


def _parent(pid: int) -> int:
    with contextlib.suppress(OSError):
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    return 0


def front_stopped(job: StruckJob, _task: str) -> None:
    job.front.send_signal(signal.SIGSTOP)
    job.undo.callback(_go_on, job.front.pid)


def frozen(job: StruckJob, _task: str) -> None:
    assert job.stage.cgroup is not None
    state = job.stage.cgroup / "freezer.state"
    job.undo.callback(state.write_text, "THAWED")
    state.write_text("FROZEN")


def debugged(job: StruckJob, task: str) -> None:
    """Counted from when it stands still: loading the symbols takes gdb a while."""
    pid = job.main_pid(task)
    gdb = subprocess.Popen(
        ["gdb", "-q", "-nx", "-p", str(pid)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    job.undo.callback(_end, gdb)
    deadline_s = time.monotonic() + ATTACH_S_MAX
    while state_of(pid) != "t":
        if time.monotonic() > deadline_s:
            raise RuntimeError(f"gdb did not attach to {pid}")
        time.sleep(0.01)
    job.struck_s = time.time()


def hogged(job: StruckJob, _task: str, *, a_core: int = HOGS_A_CORE) -> None:
    for _ in range(a_core * (os.cpu_count() or 1)):
        # In a session of its own: the kernel shares out cores by session first.
        hog = subprocess.Popen([sys.executable, "-c", HOG], start_new_session=True)
        job.undo.callback(_end, hog)


def throttled(job: StruckJob, _task: str) -> None:
    assert job.stage.cgroup is not None
    (job.stage.cgroup / "cpu.cfs_period_us").write_text(str(PERIOD_US))
    (job.stage.cgroup / "cpu.cfs_quota_us").write_text(str(QUOTA_US))
    job.undo.callback((job.stage.cgroup / "cpu.cfs_quota_us").write_text, "-1")


def filled(job: StruckJob, _task: str) -> None:
    with (
        contextlib.suppress(OSError),
        (job.stage.checkpoint_dir / "other-users-files").open("wb", buffering=0) as file,
    ):
        while True:
            file.write(b"x" * FILL_BYTES)


def frozen_disk(job: StruckJob, _task: str) -> None:
    place = str(job.stage.checkpoint_dir)
    job.undo.callback(subprocess.run, ["fsfreeze", "-u", place], check=False)
    subprocess.run(["fsfreeze", "-f", place], check=True)


def isolated(job: StruckJob, task: str) -> None:
    net, host = _host(job, task)
    net.isolate(host)


def cut_off(job: StruckJob, task: str) -> None:
    net, host = _host(job, task)
    net.cut(host, job.stage.hosts[_peer(job)])


def cut_one_way(job: StruckJob, task: str) -> None:
    net, host = _host(job, task)
    net.cut_one_way(host, job.stage.hosts[_peer(job)])


def cut_shortly(job: StruckJob, task: str) -> None:
    net, host = _host(job, task)
    net.isolate(host)
    job.until(lambda: False, PAUSE_S)
    net.heal()


def lossy(job: StruckJob, task: str) -> None:
    net, host = _host(job, task)
    net.slow(host, loss=LOSS)


def delayed(job: StruckJob, task: str) -> None:
    net, host = _host(job, task)
    net.slow(host, delay_s=DELAY_S)


def _host(job: StruckJob, task: str) -> tuple[Network, str]:
    assert job.stage.net is not None
    job.undo.callback(job.stage.net.heal)
    return job.stage.net, job.stage.hosts[task]


def _peer(job: StruckJob) -> str:
    """Whom the struck worker talks to all the time: its neighbour in the ring, or its ps."""
    return "ps:0" if "ps" in job.stage.roles else "worker:2"


def _go_on(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGCONT)


def _end(process: "subprocess.Popen[bytes]") -> None:
    process.kill()
    process.communicate()

"""Real processes that are stopped, traced, frozen or stuck: who is told of, and when."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.agent.watch_held import HeldLook
from holdfast.agent.watched import Watched
from holdfast.model.cluster import TaskId
from holdfast.model.facts import ProcessSeen
from holdfast.probes.held import stuck_thread
from holdfast.probes.process import stat_of

TASK = TaskId("worker", 1)
FREEZER = Path("/sys/fs/cgroup/freezer")
# It works a little all the time, as a task does.
WORKS = "import time\nwhile True:\n    sum(range(2000))\n    time.sleep(0.01)"


@pytest.fixture
def child() -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen([sys.executable, "-c", WORKS])
    yield process
    process.kill()
    process.wait()


def seen_now(pid: int) -> dict[TaskId, Watched]:
    found = stat_of(pid)
    assert found is not None
    return {
        TASK: Watched(
            task=TASK,
            pid=pid,
            address="",
            streams={},
            pids=(pid,),
            main=pid,
            state=found.state,
            cpu_s=found.cpu_s,
        )
    }


def wait_for_state(pid: int, *states: str) -> None:
    while (found := stat_of(pid)) and found.state not in states:
        time.sleep(0.002)


def looks(look: HeldLook, pid: int, *at_s: float) -> list[ProcessSeen]:
    facts = [fact for now_s in at_s for fact in look.look(seen_now(pid), now_s)]
    return [fact for fact in facts if isinstance(fact, ProcessSeen)]


def test_a_stopped_process_is_told_after_two_seconds_and_when_it_goes_on(
    child: subprocess.Popen[bytes],
) -> None:
    look = HeldLook("host-a")
    assert looks(look, child.pid, 1.0, 2.0) == []
    os.kill(child.pid, signal.SIGSTOP)
    wait_for_state(child.pid, "T")
    assert looks(look, child.pid, 3.0, 4.0, 5.0) == []
    assert look.hurries
    told = looks(look, child.pid, 5.4)
    assert [(fact.state, fact.lasting_s, fact.task) for fact in told] == [("T", 2.4, TASK)]
    assert not look.hurries
    assert looks(look, child.pid, 6.0, 7.0) == [], "not at every look"
    again = looks(look, child.pid, 10.5)
    assert [fact.lasting_s for fact in again] == [7.5]
    os.kill(child.pid, signal.SIGCONT)
    wait_for_state(child.pid, "S", "R")
    over = looks(look, child.pid, 11.0, 12.0, 13.0)
    assert len(over) == 1
    assert over[0].state in {"S", "R"}


def test_a_process_stopped_for_one_look_only_is_not_worth_a_fact(
    child: subprocess.Popen[bytes],
) -> None:
    look = HeldLook("host-a")
    os.kill(child.pid, signal.SIGSTOP)
    wait_for_state(child.pid, "T")
    assert looks(look, child.pid, 1.0) == []
    os.kill(child.pid, signal.SIGCONT)
    wait_for_state(child.pid, "S", "R")
    assert looks(look, child.pid, 2.0, 3.0) == []


def test_stopped_in_two_looks_with_work_in_between_is_two_moments(
    child: subprocess.Popen[bytes],
) -> None:
    """As under strace, which stops a process at each system call."""
    look = HeldLook("host-a")
    for now_s in (1.0, 2.0, 3.0):
        os.kill(child.pid, signal.SIGSTOP)
        wait_for_state(child.pid, "T")
        assert looks(look, child.pid, now_s) == []
        os.kill(child.pid, signal.SIGCONT)
        used = Path(f"/proc/{child.pid}/schedstat").read_text()
        while Path(f"/proc/{child.pid}/schedstat").read_text() == used:
            time.sleep(0.002)


def test_a_process_that_is_gone_is_forgotten(child: subprocess.Popen[bytes]) -> None:
    look = HeldLook("host-a")
    os.kill(child.pid, signal.SIGSTOP)
    wait_for_state(child.pid, "T")
    assert looks(look, child.pid, 1.0) == []
    assert look.is_held(TASK)
    assert list(look.look({}, 2.0)) == []
    assert not look.is_held(TASK)


def test_a_debugger_is_named(child: subprocess.Popen[bytes]) -> None:
    script = "\n".join([
        "import ctypes, sys",
        "libc = ctypes.CDLL(None, use_errno=True)",
        f"assert libc.ptrace(16, {child.pid}, None, None) == 0, ctypes.get_errno()",
        "print('attached', flush=True)",
        "sys.stdin.read()",
    ])  # fmt: skip
    with subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as tracer:
        assert tracer.stdout is not None
        assert tracer.stdout.readline() == b"attached\n"
        wait_for_state(child.pid, "t")
        told = looks(HeldLook("host-a"), child.pid, 1.0, 3.4)
        tracer.communicate()
    assert [(fact.state, f"(pid {tracer.pid})" in fact.tracer) for fact in told] == [("t", True)]


@pytest.mark.skipif(
    not os.access(FREEZER, os.W_OK), reason="only root may freeze a cgroup, and only of version 1"
)
def test_a_frozen_cgroup_is_named(child: subprocess.Popen[bytes]) -> None:
    cgroup = FREEZER / f"holdfast-test-{os.getpid()}"
    cgroup.mkdir()
    try:
        (cgroup / "cgroup.procs").write_text(str(child.pid))
        (cgroup / "freezer.state").write_text("FROZEN")
        wait_for_state(child.pid, "D")
        told = looks(HeldLook("host-a"), child.pid, 1.0, 3.4)
        assert [fact.frozen for fact in told] == [f"freezer/{cgroup.name}"]
    finally:
        (cgroup / "freezer.state").write_text("THAWED")
        (FREEZER / "cgroup.procs").write_text(str(child.pid))
        cgroup.rmdir()


def test_a_wait_that_cannot_be_interrupted_is_told_after_three_seconds(tmp_path: Path) -> None:
    """Whoever starts a program waits so until it has begun; here that opens a pipe first."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    code = (
        f"import os\nactions = [(os.POSIX_SPAWN_OPEN, 0, {str(pipe)!r}, os.O_RDONLY, 0)]\n"
        "os.waitpid(os.posix_spawn('/bin/true', ['true'], {}, file_actions=actions), 0)\n"
        "input()"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE) as process:
        wait_for_state(process.pid, "D")
        look = HeldLook("host-a")
        assert looks(look, process.pid, 1.0, 2.0, 3.0) == []
        (told,) = looks(look, process.pid, 4.0)
        assert (told.state, told.lasting_s, told.frozen) == ("D", 3.0, "")
        pipe.write_text("")
        wait_for_state(process.pid, "S")
        assert [fact.state for fact in looks(look, process.pid, 5.0, 6.0)] == ["S"]
        process.communicate(b"\n")


def test_a_thread_that_cannot_be_interrupted_is_told_while_the_main_one_waits(
    tmp_path: Path,
) -> None:
    """As in a server that saves variables: its main thread only waits for the others."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    code = (
        "import ctypes, os, threading, time\n"
        f"actions = [(os.POSIX_SPAWN_OPEN, 0, {str(pipe)!r}, os.O_RDONLY, 0)]\n"
        "def save():\n"
        "    time.sleep(2)  # it keeps the interpreter for itself from then on\n"
        "    os.waitpid(os.posix_spawn('/bin/true', ['true'], {}, file_actions=actions), 0)\n"
        "threading.Thread(target=save).start()\n"
        "ctypes.CDLL(None).pause()"
    )
    process = subprocess.Popen([sys.executable, "-c", code])
    try:
        until_s = time.monotonic() + 20
        while not stuck_thread(process.pid) and time.monotonic() < until_s:
            time.sleep(0.01)
        look = HeldLook("host-a")
        assert looks(look, process.pid, 1.0, 2.0, 3.0, 4.0) == []
        (told,) = looks(look, process.pid, 5.5)
        assert (told.state, told.pid) == ("D", process.pid)
    finally:
        process.kill()
        os.close(os.open(pipe, os.O_RDWR))  # it can be killed once it has what it waits for
        process.wait()

"""The watcher as a process: told of a task, it tells what it sees, and nothing holds it up."""

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from holdfast.agent.child import Child
from holdfast.agent.watch import refresh_one
from holdfast.agent.watch_order import WatchOrder
from holdfast.agent.watched import Watched
from holdfast.agent.watching import Watching
from holdfast.logdir.run_dir import create_run_dir
from holdfast.model.cluster import TaskId
from holdfast.model.facts import Fact, ProcessSeen
from holdfast.model.watch_facts import ObserverLate, StacksSeen, StepsSeen
from holdfast.probes.process import descendants

WORKER = TaskId("worker", 0)
WORD_S_MAX = 20.0
PROGRAM = "import time\ndef rest():\n    time.sleep(600)\nprint('up', flush=True)\nrest()\n"


@pytest.fixture
def program(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    with subprocess.Popen([sys.executable, str(path)], stdout=subprocess.PIPE) as running:
        assert running.stdout is not None
        running.stdout.readline()
        yield running
        running.kill()


@pytest.fixture
def watcher(tmp_path: Path, program: subprocess.Popen[bytes]) -> Iterator[Child]:
    run_dir = create_run_dir(tmp_path / "run")
    run_dir.write_json("run.json", {})
    for stream in ("out", "err"):
        os.close(run_dir.create_log(WORKER, 1, stream))
    order = WatchOrder(
        run_dir=str(run_dir.path), addresses={}, zero_s=time.monotonic(), host="host-a"
    )
    child = Child("holdfast.agent.watch", order, probe="watcher", host="host-a")
    child.tell(f"started {WORKER} {program.pid}")
    yield child
    child.kill()


def heard(watcher: Child, wanted: Callable[[Fact], bool]) -> Fact:
    """The first fact that is wanted, of all that the watcher tells."""
    until_s = time.monotonic() + WORD_S_MAX
    while (left_s := until_s - time.monotonic()) > 0:
        select.select([watcher.fd], [], [], left_s)
        for fact in watcher.hear() or ():
            if wanted(fact):
                return fact
    raise AssertionError("the watcher did not tell it")


def test_a_stopped_task_is_told_and_so_is_that_it_goes_on(
    watcher: Child, program: subprocess.Popen[bytes]
) -> None:
    program.send_signal(signal.SIGSTOP)
    seen = heard(watcher, lambda fact: isinstance(fact, ProcessSeen) and fact.state == "T")
    assert (seen.task, seen.host) == (WORKER, "host-a")
    program.send_signal(signal.SIGCONT)
    assert heard(watcher, lambda fact: isinstance(fact, ProcessSeen) and fact.state != "T")


def test_a_watcher_that_was_stopped_itself_says_so(watcher: Child) -> None:
    heard(watcher, lambda fact: True)  # it is at work
    os.kill(watcher.pid, signal.SIGSTOP)
    time.sleep(7.0)  # longer than any pause between two looks
    os.kill(watcher.pid, signal.SIGCONT)
    late = heard(watcher, lambda fact: isinstance(fact, ObserverLate))
    assert isinstance(late, ObserverLate)
    assert late.late_s >= 1.0


def test_stacks_come_when_they_are_wanted(watcher: Child) -> None:
    watcher.tell(f"stacks {WORKER} it is about to be ended")
    seen = heard(watcher, lambda fact: isinstance(fact, StacksSeen))
    assert isinstance(seen, StacksSeen)
    assert seen.why == "it is about to be ended"
    assert "rest" in seen.threads[0].frames[-1]


def test_a_task_that_is_gone_holds_nobody_up(
    watcher: Child, program: subprocess.Popen[bytes]
) -> None:
    program.kill()
    program.wait()
    watcher.tell("ended worker:0")
    watcher.tell(f"started worker:0 {os.getpid()}")
    assert heard(watcher, lambda fact: fact.task is None)


def test_who_trains_is_found_and_kept_while_it_lives(tmp_path: Path) -> None:
    """Not what it starts; and when it is gone, whoever has taken its place."""
    library = tmp_path / "torch" / "lib" / "libtorch.so"
    library.parent.mkdir(parents=True)
    library.write_bytes(bytes(4096))
    code = f"""
import mmap, subprocess, time
subprocess.Popen(["sleep", "600"])
print(flush=True)
input()
file = open({str(library)!r}, "rb")
held = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
print(flush=True)
input()
del held
print(flush=True)
time.sleep(600)
"""
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", code], stdin=pipe, stdout=pipe) as program:
        assert program.stdin
        assert program.stdout
        program.stdout.readline()
        below = [one.pid for one in descendants(program.pid)]
        watched = Watched(
            task=WORKER,
            pid=program.pid,
            address="",
            streams={},
            pids=(program.pid, *below),
            main=program.pid,
        )
        assert refresh_one(watched, search=True)
        assert (watched.main, watched.trains) == (program.pid, False), "not what it has started"
        for _ in range(2):  # it loads the library, and lets go of it
            os.write(program.stdin.fileno(), b"\n")
            program.stdout.readline()
            assert refresh_one(watched, search=True)
            assert (watched.main, watched.trains) == (program.pid, True)
        program.kill()
        program.wait()
        assert refresh_one(watched, search=True)
        assert (watched.main, watched.trains) == (below[0], False)
        os.kill(below[0], signal.SIGKILL)


def test_how_far_a_task_had_come_is_told_although_all_is_over(
    tmp_path: Path, program: subprocess.Popen[bytes]
) -> None:
    """Of a job that is ended at once, nobody waits for the next look."""
    run_dir = create_run_dir(tmp_path / "run")
    run_dir.write_json("run.json", {})
    logs = {stream: run_dir.create_log(WORKER, 1, stream) for stream in ("out", "err")}
    zero_s = time.monotonic()
    watching = Watching(
        WatchOrder(run_dir=str(run_dir.path), addresses={}, zero_s=zero_s, host="host-a")
    )
    watching.started(WORKER, program.pid)
    os.write(logs["out"], b"step 10 loss 0.5\n")
    heard(watching, lambda fact: isinstance(fact, StepsSeen) and fact.step == 10)
    os.write(logs["out"], b"step 57 loss 0.1\n")
    watching.ended(WORKER)
    last = [fact for batch in watching.finish() for fact in batch]
    watching.kill()
    assert [fact.step for fact in last if isinstance(fact, StepsSeen)] == [57]


def test_what_a_child_had_used_before_it_was_found_is_no_work_of_now() -> None:
    spend = "import time\nwhile time.process_time() < 0.3: pass\nprint(flush=True)\ninput()"
    code = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {spend!r}])"
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", code], stdin=pipe, stdout=pipe) as program:
        assert program.stdout
        watched = Watched(
            task=WORKER, pid=program.pid, address="", streams={}, pids=(program.pid,), main=0
        )
        program.stdout.readline()
        refresh_one(watched, search=False)
        used_s = watched.cpu_s
        (child,) = (one.pid for one in descendants(program.pid))
        watched.pids = (program.pid, child)
        refresh_one(watched, search=False)
        assert watched.cpu_of[child] >= 0.25
        assert watched.cpu_s - used_s < 0.2
        program.communicate(b"\n")

"""Who takes stacks tells them in rounds, and ends with the one who asked for them."""

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from holdfast.agent.stacks_order import StacksOrder
from holdfast.model.activity_facts import ActivitySeen
from holdfast.model.codec import decode
from holdfast.model.facts import ProbeBlind
from holdfast.model.watch_facts import StacksSeen

SLEEPS = "print(flush=True); import time; time.sleep(30)"


def order_for(pid: int, folder: Path) -> StacksOrder:
    return StacksOrder(
        run_dir=str(folder),
        pids={"worker:0": pid},
        zero_s=time.monotonic(),
        host="here",
        why="",
    )


@pytest.fixture
def sleeper() -> Iterator[int]:
    with subprocess.Popen([sys.executable, "-c", SLEEPS], stdout=subprocess.PIPE) as task:
        assert task.stdout is not None
        task.stdout.readline()
        yield task.pid
        task.kill()


def taker_of(order: StacksOrder) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "holdfast.agent.take_stacks", msgspec.json.encode(order)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )


FULL = """
import subprocess, sys
child = subprocess.Popen(
    [sys.executable, "-c", "while True: print('much to say')"], stdout=subprocess.PIPE
)
print(child.pid, flush=True)
child.wait()
"""


def test_whoever_should_read_the_pipe_of_a_task_is_seen_with_its_line(tmp_path: Path) -> None:
    """The process that trains is a child of the program, which waits for it and reads nothing."""
    program = tmp_path / "program.py"
    program.write_text(FULL)
    with subprocess.Popen([sys.executable, program], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        until(lambda: "pipe_write" in Path(f"/proc/{child}/wchan").read_text())
        with taker_of(order_for(child, tmp_path)) as taker:
            assert taker.stdout is not None
            seen = [decode(line) for line in taker.stdout]
        parent.kill()
    last = [one for one in seen if isinstance(one, ActivitySeen)][-1]
    assert [one.pid for one in last.processes] == [child, parent.pid]
    assert [one.does for one in last.processes] == ["writes", "waits-for-child"]
    assert last.processes[1].at == "program.py:7 in <module>"


def until(done: Callable[[], bool]) -> None:
    end_s = time.monotonic() + 20
    while not done():
        assert time.monotonic() < end_s
        time.sleep(0.02)


def test_nobody_listens_after_the_first_round(sleeper: int, tmp_path: Path) -> None:
    with taker_of(order_for(sleeper, tmp_path)) as taker:
        assert taker.stdin is not None
        assert taker.stdout is not None
        assert isinstance(decode(taker.stdout.readline()), StacksSeen)
        assert isinstance(decode(taker.stdout.readline()), ActivitySeen)
        taker.stdin.close()
        assert taker.stdout.read() == b"", "no second round"
        assert taker.wait() == 0


def test_what_the_process_does_comes_with_each_round(sleeper: int, tmp_path: Path) -> None:
    with taker_of(order_for(sleeper, tmp_path)) as taker:
        assert taker.stdout is not None
        facts = [decode(line) for line in taker.stdout]
    stacks = [fact for fact in facts if isinstance(fact, StacksSeen)]
    first, second = (fact for fact in facts if isinstance(fact, ActivitySeen))
    assert [one.at_s for one in stacks] == [first.at_s, second.at_s]
    assert first.over_s < 1.0 <= second.over_s
    assert [one.does for one in second.processes] == ["sleeps"]


def test_without_python_there_is_still_what_the_kernel_tells(tmp_path: Path) -> None:
    with subprocess.Popen(["sleep", "600"]) as task:
        with taker_of(order_for(task.pid, tmp_path)) as taker:
            assert taker.stdout is not None
            *seen, blind = (decode(line) for line in taker.stdout)
        task.kill()
    assert isinstance(blind, ProbeBlind)
    assert [one.processes[0].command for one in seen if isinstance(one, ActivitySeen)] == [
        "sleep 600",
        "sleep 600",
    ]

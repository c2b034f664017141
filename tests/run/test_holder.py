"""The holder by itself: what it keeps, who may talk to it, and when it goes."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from holdfast.agent.holding import Holding, reach_holder, start_holder

pytestmark = pytest.mark.timeout(30)
FILES_MAX = 1024
NEVER = ["sleep", "600"]


def plan(**commands: list[str]) -> bytes:
    tasks = [{"task": name, "command": words, "env": {}} for name, words in commands.items()]
    return json.dumps({"tasks": tasks}).encode()


@pytest.fixture
def dir_fd(tmp_path: Path) -> Iterator[int]:
    (tmp_path / "logs").mkdir()
    fd = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
    yield fd
    os.close(fd)


@pytest.fixture
def started(dir_fd: int) -> Iterator[list[Holding]]:
    """Every connection made; whatever is left of a holder and its tasks is ended."""
    made: list[Holding] = []
    yield made
    for holding in made:
        for record in holding.past() if holding.about else ():
            if record.kind == "started":
                subprocess.run(["kill", "-9", str(record.pid)], check=False, capture_output=True)
        holding.end()


def start(tmp_path: Path, holding: Holding, task: str) -> list[Any]:
    for stream in ("out", "err"):
        (tmp_path / "logs" / f"{task}.{stream}").touch()
    return holding.start(task, out=f"logs/{task}.out", err=f"logs/{task}.err")


def wait_for(holding: Holding, kind: str) -> Any:
    while True:
        for record in holding.hear():
            if record.kind == kind:
                return record


def test_a_second_order_to_start_starts_nothing(
    tmp_path: Path, dir_fd: int, started: list[Holding]
) -> None:
    holding = start_holder(plan(a=NEVER), dir_fd, zero_s=0.0, files_max=FILES_MAX)
    started.append(holding)
    assert holding.past() == []
    (first,) = start(tmp_path, holding, "a")
    holding._seen.clear()
    (again,) = start(tmp_path, holding, "a")
    assert first.pid == again.pid
    os.kill(first.pid, 9)
    assert wait_for(holding, "exited").signal == 9


@pytest.mark.parametrize(
    ("command", "why"), [(["/nowhere"], "ENOENT"), (["no-such-program"], "ENOENT")]
)
def test_a_command_that_cannot_be_executed_is_refused_with_its_reason(
    tmp_path: Path, dir_fd: int, started: list[Holding], command: list[str], why: str
) -> None:
    holding = start_holder(plan(a=command), dir_fd, zero_s=0.0, files_max=FILES_MAX)
    started.append(holding)
    assert holding.past() == []
    (record,) = start(tmp_path, holding, "a")
    assert (record.kind, record.errno) == ("refused", why)


def test_one_supervisor_at_a_time_and_the_next_learns_all(
    tmp_path: Path, dir_fd: int, started: list[Holding]
) -> None:
    holding = start_holder(plan(a=["true"], b=NEVER), dir_fd, zero_s=3.5, files_max=FILES_MAX)
    assert holding.past() == []
    start(tmp_path, holding, "a")
    (b,) = (one for one in start(tmp_path, holding, "b") if one.task == "b")
    with socket.socket(socket.AF_UNIX) as second:
        second.connect(str(tmp_path / "holder.sock"))
        assert second.recv(100) == b"", "the first one is still there"
    holding._lose()
    taken = reach_holder(dir_fd)
    started.append(taken)
    told = {(record.kind, record.task) for record in taken.past()}
    assert {("started", "a"), ("started", "b")} <= told
    assert taken.about is not None
    assert (taken.about.zero_s, taken.about.supervisor) == (3.5, os.getpid())
    assert json.loads(taken.plan() or b"")["tasks"][1]["command"] == NEVER
    os.kill(b.pid, 15)
    exited = wait_for(taken, "exited")
    assert exited.task in {"a", "b"}
    for child in (holding._child, taken._child):
        if child and child.poll() is None:
            taken.end()
            child.wait(10)


def test_nonsense_costs_its_sender_the_connection_and_nobody_else_anything(
    tmp_path: Path, dir_fd: int, started: list[Holding]
) -> None:
    holding = start_holder(plan(a=NEVER), dir_fd, zero_s=0.0, files_max=FILES_MAX)
    assert holding.past() == []
    (first,) = start(tmp_path, holding, "a")
    holding._lose()
    for words in (b"nonsense\n", b'{"do": "start", "task": "z"}\n', b"[]\n", b"{}\n"):
        with socket.socket(socket.AF_UNIX) as stranger:
            stranger.connect(str(tmp_path / "holder.sock"))
            stranger.sendall(words)
            while stranger.recv(65_536):
                pass
    taken = reach_holder(dir_fd)
    started.append(taken)
    assert [record.pid for record in taken.past()] == [first.pid]
    os.kill(first.pid, 9)
    taken.end()
    assert holding._child is not None
    assert holding._child.wait(10) == 0


def test_it_goes_by_itself_when_nobody_comes_and_leaves_its_record(
    tmp_path: Path, dir_fd: int
) -> None:
    ours, its = socket.socketpair()
    order = {"plan": json.loads(plan(a=["sh", "-c", "exit 4"])), "zero_s": 0.0, "hold_s": 0.3}
    (tmp_path / "logs/a.out").touch()
    with its:
        holder = subprocess.Popen(
            [
                *(sys.executable, "-m", "holdfast.agent.hold"),
                *(str(dir_fd), str(its.fileno()), str(FILES_MAX)),
            ],
            stdin=subprocess.PIPE,
            pass_fds=(dir_fd, its.fileno()),
        )
    assert holder.stdin is not None
    holder.stdin.write(json.dumps(order).encode())
    holder.stdin.close()
    with ours:
        ours.sendall(b'{"do": "start", "task": "a", "out": "logs/a.out", "err": "logs/a.out"}\n')
        told = b""
        while b'"started"' not in told:
            told += ours.recv(65_536)
    assert holder.wait(10) == 0
    assert not (tmp_path / "holder.sock").exists()
    left = reach_holder(dir_fd)
    assert left.lost
    records = {record.kind: record for record in left.past()}
    assert records["exited"].code == 4


ENV = ["sh", "-c", 'echo "in $HOLDFAST_ATTEMPT"; exec sleep 600']


def test_another_attempt_starts_everybody_again_and_knows_no_more_of_the_last(
    tmp_path: Path, dir_fd: int, started: list[Holding]
) -> None:
    holding = start_holder(plan(a=ENV), dir_fd, zero_s=1.0, files_max=FILES_MAX)
    assert holding.past() == []
    (first,) = start(tmp_path, holding, "a")
    os.kill(first.pid, 9)
    wait_for(holding, "exited")
    holding.begin_anew(2, zero_s=5.0, addresses={"a": "127.0.0.1:9"})
    names: Any = {"out": "logs/a.out", "err": "logs/a.err"}
    (second,) = holding.start("a", **names, env={"HOLDFAST_ATTEMPT": "2"})
    assert (second.attempt, second.pid != first.pid) == (2, True)
    while "in 2\n" not in (tmp_path / "logs" / "a.out").read_text():
        assert holding.hear() == [], "it has ended"
    os.kill(second.pid, 9)
    wait_for(holding, "exited")
    holding._lose()
    taken = reach_holder(dir_fd, attempt=2)
    started.append(taken)
    assert [(one.kind, one.pid) for one in taken.past() if one.kind == "started"] == [
        ("started", second.pid)
    ]
    assert taken.about is not None
    assert (taken.about.attempt, taken.about.zero_s) == (2, 5.0)
    given = json.loads(taken.plan() or b"")
    assert (given["attempt"], given["addresses"]) == (2, {"a": "127.0.0.1:9"})
    taken.end()
    assert holding._child is not None
    assert holding._child.wait(10) == 0
    left = reach_holder(dir_fd, attempt=2)
    assert {one.attempt for one in left.past()} == {2}, "from what it wrote down, the same"
    assert left.about is not None
    assert left.about.zero_s == 5.0


def test_while_somebody_lives_there_is_no_other_attempt(
    tmp_path: Path, dir_fd: int, started: list[Holding]
) -> None:
    holding = start_holder(plan(a=NEVER), dir_fd, zero_s=0.0, files_max=FILES_MAX)
    assert holding.past() == []
    (first,) = start(tmp_path, holding, "a")
    holding.begin_anew(2, zero_s=5.0, addresses={})
    holding._lose()
    taken = reach_holder(dir_fd)
    started.append(taken)
    assert [one.pid for one in taken.past()] == [first.pid]
    assert taken.about is not None
    assert taken.about.attempt == 1
    os.kill(first.pid, 9)
    taken.end()
    assert holding._child is not None
    assert holding._child.wait(10) == 0


def test_a_task_that_has_ended_can_be_started_again_once_for_each_number(
    tmp_path: Path, dir_fd: int, started: list[Holding]
) -> None:
    holding = start_holder(plan(a=NEVER), dir_fd, zero_s=0.0, files_max=FILES_MAX)
    started.append(holding)
    assert holding.past() == []
    (first,) = start(tmp_path, holding, "a")
    os.kill(first.pid, 9)
    assert wait_for(holding, "exited").number == 1
    names: Any = {"out": "logs/a.out", "err": "logs/a.err"}
    (second,) = holding.start("a", **names, number=2)
    holding._seen.clear()
    (same,) = holding.start("a", **names, number=2)
    assert second.pid == same.pid != first.pid
    os.kill(second.pid, 9)
    ended = wait_for(holding, "exited")
    assert (ended.number, ended.signal) == (2, 9)

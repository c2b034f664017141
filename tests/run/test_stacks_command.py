"""`holdfast stacks` on a run that lives: the odd one out is found, and nobody is stopped."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from holdfast.agent.live_tasks import live_tasks
from holdfast.cli.stacks import command
from holdfast.model.cluster import TaskId
from holdfast.model.facts import AttemptStarted, TaskStarted
from holdfast.probes.stacks import NoPySpy

pytestmark = pytest.mark.timeout(120)
Start = Any
HOLDFAST = str(Path(sys.executable).with_name("holdfast"))

PROGRAM = """
import os, threading, time
lock = threading.Lock()

def refill():
    with lock:
        print("never")

def train():
    if os.environ["HOLDFAST_TASK"] == "worker:1":
        with lock:
            print("ready", flush=True)
            refill()
    print("ready", flush=True)
    time.sleep(600)

train()
"""


def stacks(*words: str, cwd: Path, columns: int = 100) -> "subprocess.CompletedProcess[str]":
    env = {"PATH": "/usr/bin:/bin", "COLUMNS": str(columns)}
    return subprocess.run(
        [HOLDFAST, "stacks", *words], capture_output=True, text=True, cwd=cwd, env=env, check=False
    )


@pytest.fixture
def job(start: Start) -> Any:
    program = start.script("train.py", PROGRAM)
    started = start("--workers", "3", "--", sys.executable, program, run_dir="holdfast-runs/one")
    for index in range(3):
        started.until_says(f"worker:{index}", b"ready")
    return started


@pytest.fixture
def start(start: Start) -> Start:
    (start.place / "holdfast-runs").mkdir()
    return start


def test_the_odd_one_out_is_told_by_its_place(job: Any, start: Start) -> None:
    told = stacks(cwd=start.place, columns=240)  # folders of tests have long names
    assert told.returncode == 0, told.stderr
    rows = told.stdout.splitlines()
    assert rows[0] == "worker:0 and worker:2: waits for a while (did not move)"
    assert "worker:1: waits for another thread (did not move)" in rows
    assert "      with lock:" in rows
    assert f"    holds {start.place}/train.py:11: with lock:" in rows
    assert rows[-1].startswith("2 looks at 3 tasks, 2.")
    assert all(len(row) <= 240 for row in rows)


def test_programs_get_all_of_it(job: Any, start: Start) -> None:
    words = ("--format", "json", "--once", "--task", "worker:1", str(job.run_dir))
    told = json.loads(stacks(*words, cwd=start.place).stdout)
    assert told["schema"] == "holdfast.stacks/1"
    (group,) = told["groups"]
    assert (group["tasks"], group["doing"]) == (["worker:1"], "lock")
    (look,) = told["rounds"]
    (thread,) = look["tasks"]["worker:1"]["threads"]
    assert thread["frames"][-1].endswith("train.py:6 refill: with lock:")
    assert told["moved"] == {}


def test_native_frames_are_taken_of_those_only_that_are_known_to_be_hung(
    job: Any, start: Start
) -> None:
    early = stacks("--native", "--once", "--task", "worker:0", cwd=start.place)
    assert "not looked at: it is " in early.stdout
    job.until_state("worker:1", "deadlocked")
    told = stacks("--native", "--once", "--format", "json", cwd=start.place)
    native = json.loads(told.stdout)["native"]
    assert any("lock" in line for line in native["worker:1"])
    assert any(".so" in line or "libc" in line for line in native["worker:1"])
    assert native["worker:0"] == ["not looked at: it is starting, and looking would stop it"]


def test_a_narrow_window_is_kept_to(job: Any, start: Start) -> None:
    rows = stacks("--once", "--no-merge", cwd=start.place, columns=40).stdout.splitlines()
    assert all(len(row) <= 40 for row in rows)
    assert sum(row.startswith("worker:") for row in rows) == 3


def test_a_task_that_is_not_there_is_a_wrong_usage(job: Any, start: Start) -> None:
    told = stacks("--task", "ps:0", cwd=start.place)
    assert told.returncode == 2
    assert "worker:0, worker:1 and worker:2" in told.stderr


def test_a_run_that_is_over_has_no_stacks(job: Any, start: Start) -> None:
    subprocess.run([HOLDFAST, "stop", "--now", str(job.run_dir)], check=True, capture_output=True)
    job.wait()
    told = stacks(cwd=start.place)
    assert told.returncode == 69
    assert "it has ended" in told.stderr


def test_without_a_run_that_is_said(tmp_path: Path) -> None:
    told = stacks(cwd=tmp_path)
    assert told.returncode == 66
    assert "there is no run below holdfast-runs/" in told.stderr


def test_a_process_that_only_has_the_number_of_a_task_is_left_alone(tmp_path: Path) -> None:
    stranger = subprocess.Popen(["cat"], stdin=subprocess.PIPE)
    task = TaskId("worker", 0)
    facts = [
        AttemptStarted(
            at_s=0.0, host="host-a", began_unix_s=1.0, tasks=("worker:0", "worker:1"), holdfast="0"
        ),
        TaskStarted(at_s=1.0, host="host-a", task=task, pid=stranger.pid, address=""),
    ]
    here = live_tasks(facts, tmp_path, host="host-a")
    there = live_tasks(facts, tmp_path, host="host-b")
    stranger.communicate()
    assert here.pids == {}
    assert here.missing[task] == f"its process {stranger.pid} is gone"
    assert here.missing[TaskId("worker", 1)] == "it was never started"
    assert there.missing[task] == "it runs on host-a: look there"


def test_without_py_spy_there_is_what_the_kernel_tells(
    job: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nobody(*_: object, **__: object) -> None:
        raise NoPySpy("py-spy is not installed", do="pip install it")

    monkeypatch.setattr("holdfast.cli.stacks.take_round", nobody)
    told = CliRunner().invoke(command, ["--once", "--task", "worker:0", str(job.run_dir)])
    assert isinstance(told.exception, NoPySpy)
    first, second, last = told.output.splitlines()
    assert first == "worker:0: py-spy is not installed"
    assert second.startswith("  worker:0, by the kernel: process ")
    assert second.endswith(" sleeps")
    assert last == "nobody's Python stacks could be read"

"""A task that writes down its stacks when asked, and never notices that it can."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from holdfast.agent.in_task_env import FOLDER, with_stacks
from holdfast.model.stacks import Doing, doing
from holdfast.probes.stacks import Sources, fault_dump, python_stacks

DEADLOCKED = """
import os, threading
lock = threading.Lock()
def load():
    with lock:
        threading.Event().wait()
threading.Thread(target=load, daemon=True).start()
while not lock.locked(): pass
print("ready", flush=True)
with lock: pass
"""
Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def dumps(tmp_path: Path) -> Path:
    folder = tmp_path / "stacks"
    folder.mkdir()
    return folder


@pytest.fixture
def start(tmp_path: Path, dumps: Path) -> Iterator[Start]:
    running: list[subprocess.Popen[str]] = []

    def begin(code: str, *options: str) -> "subprocess.Popen[str]":
        file = tmp_path / "task.py"
        file.write_text(code)
        process = subprocess.Popen(
            [sys.executable, *options, str(file)],
            env=with_stacks(os.environ, dumps),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        running.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        return process

    yield begin
    for process in running:
        process.kill()
        process.communicate()


def wait_until_asleep(pid: int) -> None:
    """Every thread of it waits, in two looks."""
    asleep = 0
    while asleep < 2:
        stats = [file.read_text() for file in Path(f"/proc/{pid}/task").glob("*/stat")]
        asleep = asleep + 1 if all(") S " in stat for stat in stats) else 0
        time.sleep(0.02)


def said(code: str, env: Mapping[str, str], *options: str) -> str:
    done = subprocess.run(
        [sys.executable, *options, "-c", code], env=env, capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    return done.stdout


def test_where_memory_may_not_be_read_the_task_tells_itself(
    start: Start, dumps: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = start(DEADLOCKED)
    wait_until_asleep(process.pid)
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    monkeypatch.setenv("PATH", "/nowhere")
    for _ in range(2):  # and once more: the first answer stays in the file
        seen = python_stacks(process.pid, Sources(), dumps=dumps)
        assert seen.by == "faulthandler"
        main, loader = seen.threads
        assert main.frames[-1].endswith("task.py:10 <module>: with lock: pass")
        assert doing(main) is Doing.LOCK
        assert [held.rpartition("/")[2] for held in loader.holds] == ["task.py:5: with lock:"]
    assert process.poll() is None, "it lives on"


@pytest.mark.parametrize("options", [("-I",), ("-S",), ("-E",)])
def test_a_python_that_was_told_to_ignore_us_is_left_alone(
    options: tuple[str, ...], start: Start, dumps: Path
) -> None:
    """The signal would end a program that does not catch it."""
    process = start("print('ready', flush=True)\ninput()", *options)
    assert not fault_dump.is_armed(process.pid, dumps)
    assert fault_dump.ask_for_dump(process.pid, dumps, Sources()) == ()
    assert process.poll() is None


def test_a_program_that_a_task_became_is_left_alone(start: Start, dumps: Path) -> None:
    process = start(
        "import os\nprint('ready', flush=True)\nos.read(0, 3)\nos.execv('/bin/cat', ['cat'])"
    )
    assert fault_dump.is_armed(process.pid, dumps)
    assert process.stdin is not None
    process.stdin.write("go\nhello\n")
    process.stdin.flush()
    assert process.stdout is not None
    assert process.stdout.readline() == "hello\n"
    assert not fault_dump.is_armed(process.pid, dumps)


def test_a_task_that_closed_our_file_is_left_alone(start: Start, dumps: Path) -> None:
    process = start("import os\nos.closerange(3, 1000)\nprint('ready', flush=True)\ninput()")
    assert not fault_dump.is_armed(process.pid, dumps)


def test_a_strange_file_in_the_folder_arms_nobody(start: Start, dumps: Path) -> None:
    process = start("print('ready', flush=True)\ninput()", "-I")
    for content in (
        b"",
        b"holdfast stacks by signal 9\n",
        b"\xff\n",
        b"holdfast stacks by signal 41\n",
    ):
        (dumps / f"{process.pid}.dump").write_bytes(content)
        assert not fault_dump.is_armed(process.pid, dumps)


def test_the_path_and_modules_of_a_task_are_as_without_us(dumps: Path, tmp_path: Path) -> None:
    show = "import sys; print(sys.path); print(sorted(set(sys.modules) - {'sitecustomize'}))"
    for given in ({}, {"PYTHONPATH": f"{tmp_path}:/nowhere"}):
        without = {**os.environ, **given}
        if not given:
            without.pop("PYTHONPATH", None)
        plain = said(show, without).splitlines()
        ours = said(show, with_stacks(without, dumps)).splitlines()
        assert ours[0] == plain[0]
        ours_only = set(ours[1].split(", ")) - set(plain[1].split(", "))
        assert ours_only <= {"'atexit'", "'faulthandler'", "'_signal'", "['_signal'"}


def test_the_users_own_sitecustomize_follows(dumps: Path, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("GREETING = 'hello'\n")
    env = with_stacks({**os.environ, "PYTHONPATH": str(tmp_path)}, dumps)
    assert said("import sitecustomize; print(sitecustomize.GREETING)", env) == "hello\n"


def test_what_goes_wrong_in_the_users_own_sitecustomize_is_told_as_without_us(
    dumps: Path, tmp_path: Path
) -> None:
    (tmp_path / "sitecustomize.py").write_text("import nowhere_to_be_found\n")
    env = {**os.environ, "PYTHONPATH": str(tmp_path)}
    told = [
        subprocess.run(
            [sys.executable, "-c", ""], env=one, capture_output=True, text=True, check=False
        )
        for one in (env, with_stacks(env, dumps))
    ]
    assert "nowhere_to_be_found" in told[0].stderr
    assert told[0].stderr.splitlines()[-1] == told[1].stderr.splitlines()[-1]
    assert told[0].returncode == told[1].returncode == 0


def test_a_folder_that_cannot_be_written_disturbs_nobody(tmp_path: Path) -> None:
    for folder in ("/nowhere", "relative", ""):
        env = {**with_stacks(os.environ, tmp_path), "HOLDFAST_STACKS_DIR": folder}
        assert said("print('fine')", env) == "fine\n"


def test_programs_that_end_leave_no_file(dumps: Path) -> None:
    env = with_stacks(os.environ, dumps)
    forks = "import os, sys\nif os.fork() == 0: sys.exit()\nos.wait()\nprint(os.listdir(%r))"
    assert ".dump" in said(forks % str(dumps), env), "a child's end does not take its parent's"
    assert list(dumps.iterdir()) == []


def test_the_environment_is_only_added_to(tmp_path: Path) -> None:
    assert with_stacks({"A": "1"}, tmp_path) == {
        "A": "1",
        "PYTHONPATH": str(FOLDER),
        "HOLDFAST_STACKS_DIR": str(tmp_path),
    }
    assert with_stacks({"PYTHONPATH": "/a:/b"}, tmp_path)["PYTHONPATH"] == f"{FOLDER}:/a:/b"


def test_dumps_are_read_as_far_as_they_go() -> None:
    text = """Thread 0x00007f1 (most recent call first):
  File "/srv/job/data.py", line 14 in load
  File "/usr/lib/python3.11/threading.py", line 982 in run

Current thread 0x00007f2 (most recent call first):
  File "/srv/job/train.py", line 20 in train
  File "/srv/job/train.py", line 90 in <module>
Thread 0x00007f3 (most recent ca"""
    main, loader, cut = fault_dump.threads_in(text, Sources())
    assert main.frames == ("/srv/job/train.py:90 <module>", "/srv/job/train.py:20 train")
    assert loader.thread == 0x7F1
    assert cut.frames == ()
    assert fault_dump.threads_in("no dump at all", Sources()) == ()

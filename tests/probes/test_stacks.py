"""The stacks of real Python processes: read without stopping them, and understood."""

import os
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from holdfast.model.stacks import Doing, doing, frames_of
from holdfast.model.watch_facts import ThreadStack
from holdfast.probes.stacks import NoPySpy, Sources, Stacks, py_spy, python_stacks
from holdfast.probes.stacks.source import short_path

Start = Callable[[str], subprocess.Popen[str]]
WAIT_S = 20.0

IN_LOCK = {
    "a lock it holds itself": """
        lock = threading.Lock()
        with lock:
            print("ready", flush=True)
            with lock:
                pass
    """,
    "acquire": """
        lock = threading.Lock()
        lock.acquire()
        print("ready", flush=True)
        lock.acquire()
    """,
    "a condition": """
        condition = threading.Condition()
        with condition:
            print("ready", flush=True)
            condition.wait()
    """,
    "an event": """
        print("ready", flush=True)
        threading.Event().wait()
    """,
    "an empty queue": """
        print("ready", flush=True)
        queue.Queue().get()
    """,
    "a full queue": """
        full = queue.Queue(1)
        full.put(1)
        print("ready", flush=True)
        full.put(2)
    """,
    "a barrier": """
        print("ready", flush=True)
        threading.Barrier(2).wait()
    """,
    "a semaphore": """
        print("ready", flush=True)
        threading.Semaphore(0).acquire()
    """,
    "a thread's end": """
        thread = threading.Thread(target=threading.Event().wait, daemon=True)
        thread.start()
        print("ready", flush=True)
        thread.join()
    """,
    "a future": """
        pool = concurrent.futures.ThreadPoolExecutor(1)
        print("ready", flush=True)
        pool.submit(lambda: pool.submit(len, "").result()).result()
    """,
}
SHARED = """
import multiprocessing
lock = multiprocessing.Lock()
lock.acquire()
print("ready", flush=True)
lock.acquire()
"""
ELSEWHERE = {
    "sleep": (Doing.SLEEP, "print('ready', flush=True); time.sleep(600)"),
    "a lock with a time-out": (
        Doing.SLEEP,
        "lock = threading.Lock()\nprint('ready', flush=True)\nwhile lock.acquire(True, 600): pass",
    ),
    "an event with a time-out": (
        Doing.SLEEP,
        "print('ready', flush=True)\nthreading.Event().wait(timeout=600)",
    ),
    "a queue with a time-out": (
        Doing.SLEEP,
        "print('ready', flush=True)\nqueue.Queue().get(timeout=600)",
    ),
    "C code that nobody knows": (
        Doing.LIBRARY,
        "print('ready', flush=True)\nqueue.SimpleQueue().get()",
    ),
    "a lock of several processes": (
        Doing.READING,
        SHARED,
    ),
    "a socket": (
        Doing.READING,
        "here, there = socket.socketpair()\nprint('ready', flush=True)\nhere.recv(1)",
    ),
    "a pipe": (
        Doing.READING,
        "here, there = os.pipe()\nprint('ready', flush=True)\nos.read(here, 1)",
    ),
    "a program": (
        Doing.READING,
        "print('ready', flush=True)\nsubprocess.run([sys.executable, '-c', 'input()'])",
    ),
    "a queue of processes": (
        Doing.READING,
        "import multiprocessing\nprint('ready', flush=True)\nmultiprocessing.Queue().get()",
    ),
}


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts a program and waits until it has said that it is ready."""
    running: list[subprocess.Popen[str]] = []

    def begin(code: str) -> subprocess.Popen[str]:
        head = "import concurrent.futures, os, queue, socket, subprocess, sys, threading, time\n"
        file = tmp_path / f"program_{len(running)}.py"
        file.write_text(head + textwrap.dedent(code))
        process = subprocess.Popen(
            [sys.executable, str(file)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=tmp_path,
            start_new_session=True,
        )
        running.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        return process

    yield begin
    for process in running:
        os.killpg(process.pid, 9)
        process.communicate()


def look_until(pid: int, holds: Callable[[Stacks], bool]) -> Stacks:
    """Looks until it is so: a program that said it is ready has one more line to go."""
    sources = Sources()
    until_s = time.monotonic() + WAIT_S
    while True:
        seen = python_stacks(pid, sources)
        if holds(seen) or time.monotonic() > until_s:
            return seen


def main_is(what: Doing) -> Callable[[Stacks], bool]:
    return lambda seen: bool(seen.threads) and doing(seen.threads[0]) is what


@pytest.mark.parametrize("code", IN_LOCK.values(), ids=IN_LOCK)
def test_a_thread_that_waits_for_another_one_is_told(code: str, start: Start) -> None:
    process = start(code)
    seen = look_until(process.pid, main_is(Doing.LOCK))
    assert doing(seen.threads[0]) is Doing.LOCK, seen.threads[0]
    assert seen.threads[0].blocked == "waker"


@pytest.mark.parametrize(("what", "code"), ELSEWHERE.values(), ids=ELSEWHERE)
def test_what_ends_by_itself_or_from_outside_is_no_lock(
    what: Doing, code: str, start: Start
) -> None:
    process = start(code)
    seen = look_until(process.pid, main_is(what))
    assert doing(seen.threads[0]) is what, seen.threads[0]


def test_a_loop_is_seen_in_the_users_own_code(start: Start) -> None:
    process = start("print('ready', flush=True)\nwhile True:\n    time.time()")
    seen = look_until(process.pid, main_is(Doing.USER))
    assert doing(seen.threads[0]) is Doing.USER
    assert seen.threads[0].running


def test_each_thread_tells_the_locks_it_stands_in(start: Start) -> None:
    process = start("""
        lock_a, lock_b = threading.Lock(), threading.Lock()
        ready = threading.Barrier(2)
        def load():
            with lock_b:
                ready.wait()
                with lock_a:
                    pass
        def train():
            threading.Thread(target=load, name="loader", daemon=True).start()
            with lock_a, open("x", "w") as nothing:
                ready.wait()
                print("ready", flush=True)
                lock_b.acquire()
        train()
    """)

    def both_wait(seen: Stacks) -> bool:
        innermost = [frames_of(thread)[-1:] for thread in seen.threads]
        codes = [frame.code for frames in innermost for frame in frames]
        return codes == ["lock_b.acquire()", "with lock_a:"]

    seen = look_until(process.pid, both_wait)
    assert both_wait(seen)
    main, loader = seen.threads
    assert [held.rpartition("/")[2] for held in main.holds] == [
        'program_0.py:12: with lock_a, open("x", "w") as nothing:'
    ]
    assert [held.rpartition("/")[2] for held in loader.holds] == ["program_0.py:6: with lock_b:"]
    assert loader.name == "loader"
    assert [frame.function for frame in frames_of(main)] == ["<module>", "train"]


def test_who_sleeps_in_c_with_the_interpreters_lock_has_it(start: Start) -> None:
    keeps = start("import ctypes\nprint('ready', flush=True)\nctypes.PyDLL(None).sleep(1000)")
    # Its memory is read while it runs: a look may catch it right before it has the lock.
    has = look_until(
        keeps.pid,
        lambda seen: [(one.has_gil, one.blocked) for one in seen.threads] == [(True, "timer")],
    )
    assert has.threads
    gives = start("print('ready', flush=True)\ntime.sleep(600)")
    assert not look_until(gives.pid, main_is(Doing.SLEEP)).threads[0].has_gil


def test_secrets_in_a_source_line_are_not_kept(start: Start) -> None:
    process = start("print('ready', flush=True)\ntime.sleep(600); api_key = 'abcdefgh12345678'")
    seen = look_until(process.pid, main_is(Doing.SLEEP))
    assert "abcdefgh" not in seen.threads[0].frames[-1]


def test_a_process_without_python_is_one_that_could_not_be_looked_at() -> None:
    process = subprocess.Popen(["cat"], stdin=subprocess.PIPE)
    seen = python_stacks(process.pid, Sources())
    process.communicate()
    assert seen.threads == ()
    assert seen.why.startswith("py-spy: ")


def test_a_process_that_is_gone_is_one_that_could_not_be_looked_at() -> None:
    process = subprocess.Popen(["true"])
    process.wait()
    assert python_stacks(process.pid, Sources()).threads == ()


def test_without_py_spy_the_way_to_get_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(NoPySpy) as caught:
        python_stacks(os.getpid(), Sources())
    assert "holdfast[stacks]" in caught.value.do


def test_a_py_spy_that_hangs_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _fake_py_spy(tmp_path, monkeypatch, "#!/bin/sh\nexec sleep 600\n")
    monkeypatch.setattr(py_spy, "LIMIT_S", 0.3)
    seen = python_stacks(os.getpid(), Sources())
    assert (seen.threads, seen.why) == ((), "py-spy took more than 0 s")


def test_a_py_spy_that_never_stops_talking_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _fake_py_spy(tmp_path, monkeypatch, "#!/bin/sh\nexec cat /dev/zero\n")
    assert python_stacks(os.getpid(), Sources()).threads == ()


def test_where_the_kernel_forbids_it_that_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What py-spy says without the right to read another process's memory."""
    words = "Error: Permission Denied: Try running again with elevated permissions"
    _fake_py_spy(tmp_path, monkeypatch, f"#!/bin/sh\necho '{words}' >&2\nexit 1\n")
    seen = python_stacks(os.getpid(), Sources())
    assert seen.threads == ()
    assert "lets us not read" in seen.why


def _fake_py_spy(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    program = folder / "py-spy"
    program.write_text(script)
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(folder / "python"))


def frame(line: int, name: str = "train", file: str = "/nowhere/train.py") -> dict[str, object]:
    return {"name": name, "filename": file, "line": line}


def told(*frames: dict[str, object]) -> dict[str, object]:
    return {"thread_id": 7, "os_thread_id": 0, "thread_name": "MainThread", "frames": [*frames]}


def threads_from(*threads: object) -> tuple[ThreadStack, ...]:
    return py_spy.threads_from([*threads], os.getpid(), Sources())


def test_torn_stacks_tell_nothing() -> None:
    assert threads_from({"frames": 3}, None, {"thread_id": "x", "frames": []}) == ()
    (kept,) = threads_from(told(frame(4), frame(-1), frame(9, "main")))
    assert kept.frames == ("/nowhere/train.py:9 main", "/nowhere/train.py:4 train")
    (torn,) = threads_from(told(frame(0), frame(9, "main")))
    assert torn.frames == ()
    (beyond,) = threads_from(told(frame(100_000, file=__file__)))
    assert beyond.frames == ()
    (strange,) = threads_from(told(frame(4, name="a\x1b[2J")))
    assert strange.frames == ()


def test_deep_stacks_keep_their_ends() -> None:
    (kept,) = threads_from(told(*(frame(number + 1) for number in range(500))))
    assert len(kept.frames) == py_spy.FRAMES_MAX
    assert kept.frames[0].endswith(":500 train")
    assert kept.frames[-1].endswith(":1 train")


def test_sources_are_plain_small_python_files(tmp_path: Path) -> None:
    sources = Sources()
    os.mkfifo(tmp_path / "pipe.py")
    (tmp_path / "text.txt").write_text("one\n")
    large = tmp_path / "large.py"
    large.write_text("#" * (3 << 20))
    broken = tmp_path / "broken.py"
    broken.write_text("def f(:\n  with lock:\n    go(\x1b)\n")
    for name in ("pipe.py", "text.txt", "large.py", "missing.py"):
        assert sources.code(str(tmp_path / name), 1) == ""
    assert sources.code(str(broken), 3) == "go(?)"
    assert sources.holds(str(broken), "f", 3) == []
    broken.write_text("def f():\n  with lock:\n    go()\n    [x for x in y]\n")
    os.utime(broken, ns=(1, 1))
    assert sources.holds(str(broken), "A.f", 3) == [f"{broken}:2: with lock:"]
    assert sources.holds(str(broken), "f.<locals>.<listcomp>", 4) == []
    assert sources.holds(str(broken), "f", 2) == [], "at the line itself it waits to enter"


def test_withs_around_a_function_are_not_its_own(tmp_path: Path) -> None:
    file = tmp_path / "nested.py"
    file.write_text(
        "with top:\n"
        "  class A:\n"
        "    def f(self):\n"
        "      with self.outer:\n"
        "        def g():\n"
        "          with inner:\n"
        "            go()\n"
        "        g()\n"
        "  go()\n"
    )
    sources = Sources()
    assert sources.holds(str(file), "A.f.<locals>.g", 7) == [f"{file}:6: with inner:"]
    assert sources.holds(str(file), "A.f", 8) == [f"{file}:4: with self.outer:"]
    assert sources.holds(str(file), "<module>", 9) == [f"{file}:1: with top:"]


@pytest.mark.parametrize(
    ("path", "short"),
    [
        ("/opt/venv/lib/python3.11/site-packages/keras/a.py", "site-packages/keras/a.py"),
        ("/usr/lib/python3/dist-packages/numpy/b.py", "dist-packages/numpy/b.py"),
        ("/usr/lib/python3.12/threading.py", "lib/python3.12/threading.py"),
        ("/srv/lib/python_tools/c.py", "/srv/lib/python_tools/c.py"),
        ("/srv/job/train.py", "/srv/job/train.py"),
    ],
)
def test_paths_of_libraries_are_the_same_everywhere(path: str, short: str) -> None:
    assert short_path(path) == short

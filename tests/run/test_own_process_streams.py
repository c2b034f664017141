"""`RunningProcess`: what `subprocess.Popen` does, with output that can be read or left alone."""

import io
import os
import select
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from holdfast import RunningProcess

pytestmark = pytest.mark.timeout(240)
PIPE, STDOUT = subprocess.PIPE, subprocess.STDOUT
PYTHON = sys.executable
BOUNDED = ("timeout", "25")  # should reading its input to the end ever fail to end it


def test_lines_can_be_read_as_they_come(tmp_path: Path) -> None:
    go = tmp_path / "go"
    script = f"echo first; until [ -e {go} ]; do sleep 0.02; done; echo second; printf third"
    with RunningProcess(["sh", "-c", script], stdout=PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "first\n"
        assert process.poll() is None
        go.touch()
        assert list(process.stdout) == ["second\n", "third"]
    assert process.returncode == 0


def test_output_can_be_left_alone_or_read_twice() -> None:
    script = "i=0; while [ $i -lt 20000 ]; do echo line $i; echo err $i >&2; i=$((i + 1)); done"
    with RunningProcess(["sh", "-c", script], stdout=PIPE, stderr=PIPE) as process:
        assert process.wait(40) == 0
        assert process.stdout is not None
        expected = b"".join(b"line %d\n" % number for number in range(20_000))
        assert process.stdout.read() == expected
        assert process.communicate() == (expected, expected.replace(b"line", b"err"))


def test_reading_ends_with_the_process_not_with_its_grandchildren() -> None:
    with RunningProcess("sleep 20 & echo $!", shell=True, stdout=PIPE) as process:
        assert process.stdout is not None
        began_s = time.monotonic()
        pid = int(process.stdout.read())
        assert time.monotonic() - began_s < 10
    os.kill(pid, signal.SIGKILL)


def test_input_can_be_written_by_hand_or_by_communicate() -> None:
    with RunningProcess([*BOUNDED, "cat"], stdin=PIPE, stdout=PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write("one\n")
        process.stdin.flush()
        assert process.stdout.readline() == "one\n"
        assert process.communicate("two\n", timeout=30) == ("one\ntwo\n", None)


def test_the_end_of_a_with_block_is_the_end_of_the_input() -> None:
    with RunningProcess([*BOUNDED, "cat"], stdin=PIPE, stdout=PIPE) as process:
        assert process.stdin is not None
        process.stdin.write(b"x")
    assert process.returncode == 0


def test_communicate_ends_the_input_also_without_any() -> None:
    with RunningProcess([*BOUNDED, "cat"], stdin=PIPE, stdout=PIPE) as process:
        assert process.communicate(timeout=30) == (b"", None)


def test_input_that_nobody_reads_does_not_outlast_the_time_out() -> None:
    with RunningProcess(["sleep", "25"], stdin=PIPE, stdout=PIPE) as process:
        began_s = time.monotonic()
        with pytest.raises(subprocess.TimeoutExpired) as expired:
            process.communicate(b"x" * 10_000_000, timeout=0.3)
        assert expired.value.timeout == 0.3
        assert time.monotonic() - began_s < 10
        process.kill_tree()
        assert process.returncode == -9
        assert process.communicate() == (b"", None)


def test_communicate_can_be_called_again_after_a_time_out(tmp_path: Path) -> None:
    go = tmp_path / "go"
    script = f"until [ -e {go} ]; do sleep 0.02; done; exec wc -c"
    content = b"x" * 3_000_000
    with RunningProcess(["sh", "-c", script], stdin=PIPE, stdout=PIPE) as process:
        with pytest.raises(subprocess.TimeoutExpired):
            process.communicate(content, timeout=0.2)
        go.touch()
        out, _ = process.communicate(timeout=30)
    assert out.split() == [b"3000000"]


def test_signals_poll_and_wait_are_those_of_popen() -> None:
    with RunningProcess(["sleep", "25"]) as process:
        assert process.poll() is None
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.05)
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == -15
        assert process.poll() == process.wait() == -15
        finding = process.diagnose().findings[0]
    assert finding.name == "killed-by-signal"
    assert process.wait() == -15


def test_the_process_has_no_descriptor_of_ours_and_a_session_of_its_own_if_asked() -> None:
    reader, writer = os.pipe()
    script = "ls /proc/self/fd; ps -o sid= -p $$"
    ours: Any = {"stdout": PIPE, "stderr": STDOUT, "text": True, "start_new_session": True}
    with RunningProcess(["sh", "-c", script], **ours) as process:
        out, err = process.communicate()
    os.close(writer)
    assert select.select([reader], [], [], 0)[0], "nobody else holds the other end"
    os.close(reader)
    assert err is None
    *descriptors, session = out.split()
    assert set(descriptors) <= {"0", "1", "2", "3"}
    assert int(session) == process.pid


def test_ctrl_c_in_a_with_block_does_not_wait_for_the_process() -> None:
    began_s = time.monotonic()
    with pytest.raises(KeyboardInterrupt), RunningProcess(["sleep", "50"]) as process:
        raise KeyboardInterrupt
    assert time.monotonic() - began_s < 40
    process.kill_tree()
    assert process.wait() == -9


def test_output_that_is_handed_on_is_refused_with_a_way_out() -> None:
    with RunningProcess(["echo"], stdout=PIPE) as process:
        with pytest.raises(OSError, match="goes to a file, and not through a pipe"):
            RunningProcess(["cat"], stdin=process.stdout)
        process.wait()


@pytest.mark.parametrize(
    ("bufsize", "kind"), [(0, io.RawIOBase), (-1, io.BufferedReader), (9, io.BufferedReader)]
)
def test_output_is_buffered_as_asked(bufsize: int, kind: type) -> None:
    with RunningProcess(["echo", "hi"], bufsize=bufsize, stdout=PIPE) as process:
        assert process.stdout is not None
        assert kind in type(process.stdout).__mro__
        assert process.stdout.read(3) == b"hi\n"


LEAKY = """
import gc, os, warnings
from holdfast import RunningProcess, run_process
PIPE = -1
def fds(): return len(os.listdir("/proc/self/fd"))
run_process(["true"], capture_output=True)
before = fds()
for _ in range(5):
    RunningProcess(["true"]).wait()
    RunningProcess(["echo"], stdout=PIPE, stderr=PIPE).communicate()
    RunningProcess(["cat"], stdin=PIPE, stdout=PIPE, text=True).communicate("x")
    with RunningProcess(["echo"], stdout=PIPE) as process:
        pass
    run_process(["cat"], input="x", capture_output=True, text=True)
    try:
        run_process(["/no/such/program"], capture_output=True, input=b"x")
    except FileNotFoundError:
        pass
    try:
        run_process(["sleep", "9"], capture_output=True, timeout=0.01)
    except Exception as error:
        assert type(error).__name__ == "TimeoutExpired"
        error = None
del process
gc.collect()
assert fds() == before, os.listdir("/proc/self/fd")
print("clean")
"""


def test_nothing_leaks_and_nothing_warns() -> None:
    done = subprocess.run(
        [PYTHON, "-W", "error", "-X", "dev", "-c", LEAKY],
        check=False,
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert (done.stdout, done.stderr) == ("clean\n", "")


def test_a_program_of_many_threads_may_run_many_at_once() -> None:
    def one(number: int) -> Any:
        with RunningProcess(["sh", "-c", f"echo {number}; exit {number}"], stdout=PIPE) as process:
            return process.communicate()[0], process.returncode

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(one, range(24)))
    assert found == [(b"%d\n" % number, number) for number in range(24)]

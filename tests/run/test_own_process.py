"""`run_process`: what `subprocess.run` does, without its deadlocks, and with the reason."""

import copy
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from holdfast import FailedProcess, run_process

pytestmark = pytest.mark.timeout(60)
PIPE, STDOUT, DEVNULL = subprocess.PIPE, subprocess.STDOUT, subprocess.DEVNULL
PYTHON = sys.executable
FLOOD_BYTES = 50 << 20
CAT = ("cat",)


@pytest.mark.parametrize(
    ("args", "settings"),
    [
        (["true"], {}),
        (["false"], {}),
        (["echo", "a b"], {"capture_output": True}),
        (["echo", "a b"], {"stdout": PIPE}),
        ("echo $0 out; echo err >&2; exit 3", {"shell": True, "capture_output": True}),
        ("echo out; echo err >&2", {"shell": True, "stdout": PIPE, "stderr": STDOUT}),
        ("echo out; echo err >&2", {"shell": True, "stdout": DEVNULL, "stderr": PIPE}),
        (CAT, {"input": b"abc\0\xff\n", "capture_output": True}),
        (CAT, {"input": "häßlich\n", "capture_output": True, "text": True}),
        (CAT, {"input": "h\xe4\n", "capture_output": True, "encoding": "latin-1"}),
        (CAT, {"input": b"", "capture_output": True}),
        (CAT, {"stdin": DEVNULL, "capture_output": True}),
        (["printf", "a\\r\\nb\\rc\\n"], {"capture_output": True, "text": True}),
        (["printf", "a\\r\\nb\\rc\\n"], {"capture_output": True}),
        (["printf", "caf\\351"], {"capture_output": True, "errors": "replace"}),
        (["printf", "caf\\351"], {"stdout": PIPE, "encoding": "utf-8", "errors": "ignore"}),
        (["pwd"], {"cwd": "/", "capture_output": True, "text": True}),
        (["pwd"], {"cwd": Path("/"), "stdout": PIPE}),
        (["sh", "-c", "echo $ONLY $HOME"], {"env": {"ONLY": "this"}, "stdout": PIPE}),
        (["sh", "-c", "kill -9 $$"], {"capture_output": True}),
        (["sh", "-c", "echo half; kill -TERM $$"], {"capture_output": True, "timeout": 30}),
        ([Path("/bin/echo"), b"bytes"], {"capture_output": True}),
        (["head", "-c", "1"], {"input": b"x" * 1_000_000, "capture_output": True}),
    ],
)
def test_an_ordinary_call_has_the_result_that_subprocess_has(
    args: Any, settings: dict[str, Any]
) -> None:
    theirs = subprocess.run(args, check=False, **settings)
    ours = run_process(args, **settings)
    assert isinstance(ours, subprocess.CompletedProcess)
    assert (ours.args, ours.returncode) == (theirs.args, theirs.returncode)
    assert (ours.stdout, ours.stderr) == (theirs.stdout, theirs.stderr)


@pytest.mark.parametrize(
    ("args", "settings"),
    [
        (["/no/such/program"], {}),
        (["/etc/passwd"], {"capture_output": True}),
        (["true"], {"cwd": "/no/such/folder"}),
        (["true"], {"capture_output": True, "stdout": PIPE}),
        (["true"], {"input": b"x", "stdin": DEVNULL}),
        (["sh", "-c", "exit 4"], {"check": True}),
    ],
)
def test_what_cannot_be_raises_what_subprocess_raises(args: Any, settings: dict[str, Any]) -> None:
    with pytest.raises(Exception) as theirs:  # noqa: PT011 - whatever it is
        subprocess.run(args, **{"check": False, **settings})  # noqa: PLW1510 - it is there
    with pytest.raises(theirs.type):
        run_process(args, **settings)


def test_a_flood_on_both_streams_needs_no_reader() -> None:
    chunks = FLOOD_BYTES >> 16
    program = f"import os\nfor n in range({2 * chunks}): os.write(1 + n % 2, b'x' * 65536)"
    done = run_process([PYTHON, "-c", program], capture_output=True)
    assert done.returncode == 0
    assert done.stdout == done.stderr == b"x" * FLOOD_BYTES
    assert done.finding is None


def test_a_grandchild_that_keeps_the_output_open_keeps_nobody_waiting() -> None:
    """`subprocess.run` would wait for the grandchild."""
    began_s = time.monotonic()
    done = run_process("sleep 20 & echo $!", shell=True, capture_output=True)
    try:
        assert time.monotonic() - began_s < 10
        assert done.returncode == 0
    finally:
        os.kill(int(done.stdout), signal.SIGKILL)


# Starts one of every kind that could escape: in the background, in a session of its own,
# forked twice, without our environment, deaf to SIGTERM. Each tells its pid.
TREE = """
trap '' TERM
sh -c 'echo $$; exec sleep 41' &
setsid sh -c 'echo $$; exec sleep 42' &
(setsid sh -c 'echo $$; exec sleep 43' &)
env -i sh -c 'echo $$; exec sleep 44' &
echo $$
echo so far >&2
wait
"""


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def test_a_time_out_kills_the_whole_tree_and_keeps_what_it_said() -> None:
    with pytest.raises(subprocess.TimeoutExpired) as expired:
        run_process(["sh", "-c", TREE], capture_output=True, text=True, timeout=1.0)
    assert expired.value.timeout == 1.0
    assert str(expired.value.stderr) == "so far\n"
    pids = [int(word) for word in str(expired.value.stdout).split()]
    assert len(pids) == 5
    assert [pid for pid in pids if alive(pid)] == []


def test_an_interrupt_kills_the_whole_tree_too(tmp_path: Path) -> None:
    told = tmp_path / "pids"
    program = (
        "import signal; from holdfast import run_process;"
        f"run_process(['sh', '-c', {TREE!r}], stdout=open({str(told)!r}, 'w'))"
    )
    # Where this suite runs in the background, Ctrl-C is ignored, and that is inherited.
    hears_ctrl_c = ["env", "--default-signal=INT", PYTHON, "-c", program]
    with subprocess.Popen(hears_ctrl_c, stderr=DEVNULL) as caller:
        deadline_s = time.monotonic() + 30
        while not told.exists() or len(told.read_text().split()) < 5:
            assert time.monotonic() < deadline_s
            time.sleep(0.02)
        caller.send_signal(signal.SIGINT)
        assert caller.wait(30) == -signal.SIGINT
    assert [pid for pid in map(int, told.read_text().split()) if alive(pid)] == []


def test_a_failure_carries_its_reason() -> None:
    program = [PYTHON, "-c", "print('hi'); raise ValueError('no data')"]
    done = run_process(program, capture_output=True)
    assert done.finding is not None
    assert done.finding.name == "user-exception"
    assert "ValueError: no data" in done.finding.proof.says
    with pytest.raises(subprocess.CalledProcessError) as failed:
        run_process(program, capture_output=True, check=True)
    assert isinstance(failed.value, FailedProcess)
    assert failed.value.finding is not None
    assert failed.value.finding.proof.says == done.finding.proof.says
    assert (failed.value.returncode, failed.value.stdout) == (1, b"hi\n")
    assert b"Traceback" in failed.value.stderr
    assert "no data" in str(failed.value)
    again = copy.copy(failed.value)  # by the way that a pool of processes takes, too
    assert (str(again), again.stdout) == (str(failed.value), b"hi\n")


def test_a_signal_is_a_finding_and_a_plain_exit_code_none() -> None:
    killed = run_process(["sh", "-c", "kill -9 $$"])
    assert killed.returncode == -9
    assert killed.finding is not None
    assert killed.finding.name == "killed-by-signal"
    quiet = run_process(["sh", "-c", "exit 3"], capture_output=True)
    assert quiet.finding is None
    assert quiet.diagnosis.verdict == "cannot-tell"


def test_it_works_where_a_thousand_files_are_open_already() -> None:
    program = (
        "import os, resource; from holdfast import run_process;"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (4096, resource.getrlimit(7)[1]));"
        "held = [os.dup(0) for _ in range(1100)];"
        "print(run_process(['cat'], input=b'fine', capture_output=True).stdout)"
    )
    assert subprocess.check_output([PYTHON, "-c", program]) == b"b'fine'\n"

"""`run_process`: what `subprocess.run` does, without its deadlocks, and with the reason."""

import copy
import importlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from holdfast import FailedProcess, run_process

pytestmark = pytest.mark.timeout(240)
PIPE, STDOUT, DEVNULL = subprocess.PIPE, subprocess.STDOUT, subprocess.DEVNULL
PYTHON = sys.executable
FLOOD_BYTES = 50 << 20
CAT = ("cat",)


def put_fruit() -> None:
    os.putenv("FRUIT", "apple")


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
        (["printf", "a\\r\\nb"], {"universal_newlines": True, "stdout": PIPE, "bufsize": 1}),
        (["not me", "-c", "echo $0"], {"executable": "/bin/sh", "stdout": PIPE}),
        (["sh", "-c", "umask"], {"umask": 0o27, "stdout": PIPE}),
        (["sh", "-c", "ps -o sid= -p $$"], {"stdout": PIPE, "pipesize": 4096}),
        (["sh", "-c", "echo $FRUIT"], {"preexec_fn": put_fruit, "stdout": PIPE}),
        (["sh", "-c", "echo $FRUIT"], {"preexec_fn": put_fruit, "env": {}, "stdout": PIPE}),
        (["sh", "-c", "trap"], {"restore_signals": False, "stdout": PIPE}),
        (CAT, {"input": "h\xe4\u20ac", "text": True, "errors": "ignore", "stdout": PIPE}),
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
        (["true"], {"startupinfo": 1}),
        (["true"], {"creationflags": 1}),
        (["true"], {"no_such_setting": 1}),
        (["true"], {"text": True, "universal_newlines": False}),
        (["true"], {"bufsize": "orange"}),
        (["true"], {"user": "no such user"}),
        (["true"], {"start_new_session": True, "process_group": 0}),
        (["printf", "caf\\351"], {"stdout": PIPE, "encoding": "utf-8"}),
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
    pids: list[int] = []
    for timeout_s in (1.0, 5.0, 25.0):  # on a busy machine it takes its time to say all of it
        with pytest.raises(subprocess.TimeoutExpired) as expired:
            run_process(["sh", "-c", TREE], capture_output=True, text=True, timeout=timeout_s)
        assert expired.value.timeout == timeout_s
        # Bytes, also of text: as subprocess has it.
        pids = [int(word) for word in (expired.value.stdout or b"").split()]
        assert [pid for pid in pids if alive(pid)] == []
        if len(pids) == 5:
            break
    assert len(pids) == 5
    assert expired.value.stderr == b"so far\n"


def test_an_interrupt_kills_the_whole_tree_too(tmp_path: Path) -> None:
    told = tmp_path / "pids"
    program = (
        "import signal; from holdfast import run_process;"
        f"run_process(['sh', '-c', {TREE!r}], stdout=open({str(told)!r}, 'w'))"
    )
    # Where this suite runs in the background, Ctrl-C is ignored, and that is inherited.
    hears_ctrl_c = ["env", "--default-signal=INT", PYTHON, "-c", program]
    with subprocess.Popen(hears_ctrl_c, stderr=DEVNULL) as caller:
        deadline_s = time.monotonic() + 100
        while not told.exists() or len(told.read_text().split()) < 5:
            assert time.monotonic() < deadline_s
            time.sleep(0.02)
        caller.send_signal(signal.SIGINT)
        assert caller.wait(100) == -signal.SIGINT
    assert [pid for pid in map(int, told.read_text().split()) if alive(pid)] == []


@pytest.mark.parametrize(
    "place", ["subprocess._fork_exec", "holdfast.agent.running_process.MemoryWitness"]
)
def test_an_interrupt_while_it_starts_kills_the_whole_tree_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    """On a busy machine a process has done much before we hear that it was started."""
    told = tmp_path / "pids"
    module, _, name = place.rpartition(".")
    does = getattr(importlib.import_module(module), name)

    def interrupted(*args: Any) -> None:
        does(*args)
        deadline_s = time.monotonic() + 100
        while len(told.read_text().split()) < 5:
            assert time.monotonic() < deadline_s
            time.sleep(0.02)
        raise KeyboardInterrupt

    monkeypatch.setattr(place, interrupted)
    with told.open("w") as out, pytest.raises(KeyboardInterrupt):
        run_process(["sh", "-c", TREE], stdout=out, stderr=DEVNULL)
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


def test_a_failure_without_a_proven_cause_is_not_called_well() -> None:
    script = "echo working; echo a plain word >&2; echo 'token=s3cr3t-0123 \033[1mbold' >&2; exit 3"
    done = run_process(["sh", "-c", script], capture_output=True)
    assert done.finding is None
    assert done.diagnosis.verdict == "cannot-tell"
    assert done.reason.startswith("cannot tell why it ended with exit code 3: ")
    assert "its last words: a plain word | token=" in done.reason
    assert "s3cr3t" not in done.reason
    assert "\033" not in done.reason
    with pytest.raises(FailedProcess) as failed:
        done.check_returncode()
    assert failed.value.reason == done.reason
    assert str(failed.value).endswith(done.reason)


@pytest.mark.parametrize(
    ("script", "settings", "words"),
    [
        ("exit 3", {"capture_output": True}, "it wrote nothing"),
        ("exit 3", {}, "what it wrote was not kept (capture_output=True keeps it)"),
        ("echo only here; exit 3", {"capture_output": True}, "its last words: only here"),
        ("yes | head -c 9999; exit 3", {"stdout": PIPE, "text": True}, "its last words: y | y | y"),
    ],
)
def test_last_words_are_told_as_far_as_they_were_kept(
    script: str, settings: dict[str, Any], words: str
) -> None:
    assert run_process(["sh", "-c", script], **settings).reason.endswith(words)


def test_a_signal_is_a_finding_and_a_good_end_needs_no_reason() -> None:
    killed = run_process(["sh", "-c", "kill -9 $$"])
    assert killed.returncode == -9
    assert killed.finding is not None
    assert killed.finding.name == "killed-by-signal"
    assert killed.reason == killed.finding.proof.says
    assert run_process(["echo", "fine"], capture_output=True).reason == ""


def test_a_process_may_have_a_descriptor_a_group_and_a_session_of_its_own() -> None:
    reader, writer = os.pipe()
    told = "ps -o pid=,pgid=,sid= -p $$"
    ids = ["sh", "-c", f"echo through >/dev/fd/{writer}; {told}"]
    grouped = run_process(ids, pass_fds=[writer], process_group=0, stdout=PIPE, text=True)
    pid, group, session = map(int, grouped.stdout.split())
    assert (pid, session) == (group, os.getsid(0))
    alone = run_process(told, shell=True, start_new_session=True, stdout=PIPE, close_fds=False)
    pid, group, session = map(int, alone.stdout.split())
    assert pid == group == session
    os.close(writer)
    assert os.read(reader, 100) == b"through\n"
    os.close(reader)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may become somebody else")
def test_a_process_may_be_somebody_else() -> None:
    command = ["sh", "-c", "id -u; id -g; id -G"]
    done = run_process(command, user=65534, group=65533, extra_groups=[65532], stdout=PIPE)
    assert done.stdout.split() == [b"65534", b"65533", b"65533", b"65532"]


def test_settings_by_place_mean_what_they_mean_to_popen() -> None:
    assert run_process(["me", "-c", "echo $0"], -1, "/bin/sh", None, PIPE).stdout == b"me\n"


def test_an_end_that_nobody_may_wait_for_is_an_end() -> None:
    """Where SIGCHLD is ignored the kernel keeps no exit code, and subprocess calls it 0."""
    program = (
        "import signal; signal.signal(signal.SIGCHLD, signal.SIG_IGN);"
        "from holdfast import run_process;"
        "print([run_process(['true'], capture_output=True).returncode for _ in range(20)])"
    )
    done = subprocess.run([PYTHON, "-c", program], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == (f"{[0] * 20}\n", "")


def test_it_works_where_a_thousand_files_are_open_already() -> None:
    program = (
        "import os, resource; from holdfast import run_process;"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (4096, resource.getrlimit(7)[1]));"
        "held = [os.dup(0) for _ in range(1100)];"
        "print(run_process(['cat'], input=b'fine', capture_output=True).stdout)"
    )
    assert subprocess.check_output([PYTHON, "-c", program]) == b"b'fine'\n"

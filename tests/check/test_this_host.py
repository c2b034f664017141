"""Real looks at this host and along real paths, which leave nothing behind."""

import json
import os
import pty
import select
import signal
import socket
import subprocess
import sys
import time
from typing import Any

import pytest

Check = Any
pytestmark = pytest.mark.timeout(60)
SILENT = "192.0.2.1:2222"  # kept free for documentation: nobody is there


def local(ports: list[int]) -> dict[str, Any]:
    workers = [f"127.0.0.1:{port}" for port in ports]
    return {"cluster": {"worker": workers}, "task": {"type": "worker", "index": 0}}


def test_before_the_start_all_is_well_and_nothing_is_left(
    check: Check, free_ports: list[int]
) -> None:
    check.write("one.json", local(free_ports))
    before = check.files()
    done = check.json("one.json", "--log-dir", ".", "--checkpoint-dir", "ckpt", "--latency")
    assert done.code == 0, done.out
    for category in ("Definition", "Ports", "Memory", "Disk", "Proxy", "Versions", "Paths"):
        assert done.state(category) in {"ok", "warning"}, category
    says = {row["category"]: row["says"] for row in done.report["check"]}
    assert says["Paths"].startswith("4 reachable, not started yet")
    assert "holds worker:0-3" in says["Host"]
    assert check.files() == before


def test_a_port_that_somebody_holds_is_an_error(
    check: Check, free_ports: list[int], listener: socket.socket
) -> None:
    held = listener.getsockname()[1]
    done = check.json(json.dumps(local([held, *free_ports[:1]])))
    assert done.code == 3
    assert "port-conflict" in done.causes
    assert done.state("Ports") == "error"


def test_a_name_that_means_nothing_is_an_error(check: Check) -> None:
    done = check.json("no-such-host.invalid:2222,127.0.0.1:2223")
    assert done.code == 3
    assert done.state("Addresses") == "error"


def test_the_versions_are_those_of_the_named_interpreter(check: Check) -> None:
    done = check("-v", "--python", sys.executable, "127.0.0.1:2222")
    assert f"{sys.executable}: python " in done.out.replace("\n      ", "")
    done = check("--python", "/no/such/python", "127.0.0.1:2222")
    assert "· Versions" in done.out


@pytest.mark.parametrize("width", [60, 120])
def test_no_line_is_wider_than_the_terminal(check: Check, width: int) -> None:
    done = check("-v", "--latency", "127.0.0.1:2222,127.0.0.1:2223", "ps=127.0.0.1", width=width)
    assert max(map(len, done.out.splitlines())) <= width
    assert "\x1b" not in done.out


# Where this suite runs in the background, Ctrl-C is ignored, and that is inherited.
HEARS_CTRL_C = ("env", "--default-signal=INT", sys.executable, "-m")


def test_ctrl_c_ends_it_at_once_and_with_all_it_started(check: Check) -> None:
    """Python as the interpreter that never answers: the check would wait for it."""
    sleeper = check.place / "sleeper"
    sleeper.write_text("#!/bin/sh\necho $$ > sleeper.pid\nexec sleep 600\n")
    sleeper.chmod(0o700)
    process = subprocess.Popen(
        [*HEARS_CTRL_C, "holdfast", "check", "--python", str(sleeper), "127.0.0.1:2222"],
        cwd=check.place,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    pid_file = check.place / "sleeper.pid"
    deadline_s = time.monotonic() + 30
    while not (pid_file.exists() and pid_file.read_text().strip()):
        assert time.monotonic() < deadline_s
        select.select([], [], [], 0.02)
    process.send_signal(signal.SIGINT)
    began_s = time.monotonic()
    out, err = process.communicate(timeout=20)
    assert process.returncode == 130
    assert time.monotonic() - began_s < 3
    assert (out, err) == (b"", b"")
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid_file.read_text()), 0)


def test_progress_is_shown_to_a_person_and_taken_back(check: Check) -> None:
    slow = check.place / "slow"
    slow.write_text("#!/bin/sh\nsleep 1.6\n")
    slow.chmod(0o700)
    ours, theirs = pty.openpty()
    done = subprocess.run(
        [sys.executable, "-m", "holdfast", "check", "--python", str(slow), "127.0.0.1:2222"],
        stdout=subprocess.PIPE,
        stderr=theirs,
        check=False,
        timeout=40,
    )
    os.close(theirs)
    said = os.read(ours, 65_536)
    os.close(ours)
    assert b"looking" in said
    assert said.endswith(b"\r\x1b[K")
    assert b"looking" not in done.stdout

"""A terminal or a pipe that takes nothing costs lines on the screen, never a task its time."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from holdfast.model.facts import AttemptEnded, TaskExited
from holdfast.views.live import BYTES_QUEUED_MAX

pytestmark = pytest.mark.timeout(90)
Start = Any
Terminal = Any
LINES = 300_000

# Floods when it is told to, and says how long that took.
FLOOD = f"""
import os, sys, time
while not os.path.exists("go"):
    time.sleep(0.01)
began_s = time.monotonic()
for number in range({LINES}):
    print(f"line {{number:07}} of the flood, which is as long as an ordinary line of a log is")
print("took", time.monotonic() - began_s, file=sys.stderr)
"""
WHOLE = re.compile(r"worker:0 │ line (\d{7}) of the flood, which is as long as .* of a log is")
NOTICE = re.compile(r"^… ([\d,]+) lines? (?:was|were) not shown here; see logs/worker-0.1.out$")


def test_a_stopped_terminal_costs_lines_on_the_screen_only(
    start: Start, terminal: Terminal, poll_until: Any
) -> None:
    program = start.script("flood.py", FLOOD)
    job = start("--", sys.executable, program, **terminal.settings)
    terminal.until_shows("worker:0 ●")
    terminal.stop()
    stopped_s = time.monotonic()
    (start.place / "go").touch()
    job.until_says("worker:0", b"took", stream="err")
    assert job.until_fact(TaskExited).exit_code == 0, "the task ended while nobody could look"
    poll_until(lambda: time.monotonic() - stopped_s > 3, "three seconds")
    assert job.front.poll() is None
    terminal.go_on()
    assert terminal.wait(job) == 0
    flood = job.log("worker:0").splitlines()
    assert len(flood) == LINES
    rows = [row.rpartition("\x1b[K")[2] for row in terminal.text.replace("\r\n", "\n").split("\n")]
    rows = [re.sub(r"\x1b\[\d+m", "", row) for row in rows]
    shown = [row for row in rows if "flood" in row]
    assert all(WHOLE.fullmatch(row) for row in shown), "no line is made of two halves"
    numbers = [int(row[16:23]) for row in shown]
    assert numbers == sorted(set(numbers))
    assert numbers[-1] == LINES - 1
    missed = sum(int(found[1].replace(",", "")) for row in rows if (found := NOTICE.match(row)))
    assert missed > 0
    assert abs(missed + len(shown) - LINES) <= 2


def test_a_slow_reader_of_a_pipe_gets_every_line(start: Start) -> None:
    """It reads nothing until the job is over, and then it reads all."""
    job = start("--", "seq", "1", "60000", stdout=subprocess.PIPE)
    job.until_fact(AttemptEnded)
    with job.front.stdout as pipe:
        lines = pipe.read().decode().splitlines()
    assert job.wait() == 0
    assert lines[:60_000] == [f"worker:0 │ {number}" for number in range(1, 60_001)]


def test_a_pipe_that_nobody_reads_holds_up_neither_the_job_nor_its_end(
    start: Start, poll_until: Any
) -> None:
    """Long lines, all different: the front's own queue is full too when Ctrl-C comes."""
    go = start.place / "go"
    wait = f"echo ready >&2; until [ -e {go} ]; do sleep 0.02; done"
    flood = f"{sys.executable} -c 'for number in range(9000): print(str(number) * 300)'"
    job = start("--", "sh", "-c", f"{wait}; {flood}; exec sleep 600", stdout=subprocess.PIPE)
    job.until_says("worker:0", b"ready", stream="err")
    before = bytes_read_by(job.front.pid)
    go.touch()
    much = BYTES_QUEUED_MAX + 50_000
    poll_until(lambda: bytes_read_by(job.front.pid) - before > much, "the front's queue to fill")
    job.front.send_signal(signal.SIGINT)
    assert job.until_fact(AttemptEnded).exit_code == 130
    job.front.stdout.close()
    assert job.wait() == 130
    assert "Traceback" not in job.err
    job.nothing_is_left()


def bytes_read_by(pid: int) -> int:
    return int(Path(f"/proc/{pid}/io").read_text().split()[1])


def test_a_reader_that_goes_away_leaves_the_job_and_its_exit_code(start: Start) -> None:
    """`holdfast run | head -1`: what has ended is the looking, not the training."""
    reader, writer = os.pipe()
    go = start.place / "go"
    forever = f"echo ready; until [ -e {go} ]; do sleep 0.02; done; echo more; kill -9 $$"
    job = start("--", "sh", "-c", forever, stdout=writer)
    os.close(writer)
    assert os.read(reader, 100).startswith(b"worker:0")
    os.close(reader)
    go.touch()
    assert job.wait() == 137
    assert job.log("worker:0") == b"ready\nmore\n"
    assert job.err == ""


def test_closed_standard_streams_are_no_reason_to_fail(start: Start) -> None:
    """As some daemons start their children: then our files must not take those numbers."""
    for closed in ("<&-", ">&-", "2>&-", "<&- >&- 2>&-"):
        closing = ("sh", "-c", f'exec "$0" "$@" {closed}', start_holdfast())
        start("--", "echo", "fine", front=closing)
    for job in start.jobs:
        assert job.wait() == 0
        assert job.log("worker:0") == b"fine\n"
        assert "Traceback" not in job.err
        job.nothing_is_left()


def start_holdfast() -> str:
    return str(Path(sys.executable).with_name("holdfast"))

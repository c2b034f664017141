"""Signals to the front, to the supervisor and by `holdfast stop`: who gets them, and what ends."""

import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from holdfast.model.facts import AttemptEnded, SignalSent, StopAsked

pytestmark = pytest.mark.timeout(60)
Start = Any
Holdfast = Callable[..., Any]

# Tells what it gets. `stubborn` stays whatever that is; `end` ends well on SIGTERM or SIGINT.
LISTEN = """
import os, signal, sys, time
def got(number, _):
    print("got", signal.Signals(number).name, flush=True)
    if sys.argv[1] == "end" and number in (signal.SIGINT, signal.SIGTERM):
        sys.exit(0)
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2, signal.SIGHUP):
    signal.signal(number, got)
print("ready", flush=True)
while True:
    time.sleep(0.02)
    if os.path.exists("over"):
        sys.exit(3 if sys.argv[1] == "fail" else 0)
"""


def listening(start: Start, how: str, *options: str, **settings: Any) -> Any:
    program = start.script("listen.py", LISTEN)
    job = start("--workers", "2", *options, "--", sys.executable, program, how, **settings)
    for task in ("worker:0", "worker:1"):
        job.until_says(task, b"ready")
    return job


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=["ctrl-c", "sigterm"]
)
def test_one_signal_to_the_front_ends_the_job_gracefully(
    start: Start, number: signal.Signals, code: int
) -> None:
    job = listening(start, "end")
    job.front.send_signal(number)
    assert job.wait() == code
    assert job.log("worker:1") == f"ready\ngot {number.name}\n".encode()
    assert [fact.signal for fact in job.facts(SignalSent)][:2] == [number, number]
    assert job.report["findings"] == []
    assert "stopped by" in job.out
    job.nothing_is_left()


def test_a_second_ctrl_c_kills_at_once(start: Start) -> None:
    job = listening(start, "stay", "--grace-s", "600")
    job.front.send_signal(signal.SIGINT)
    job.until_says("worker:0", b"got SIGINT")
    assert job.front.poll() is None
    began_s = time.monotonic()
    job.front.send_signal(signal.SIGINT)
    assert job.wait() == 130
    assert time.monotonic() - began_s < 15
    assert job.out.count("again to end at once") == job.out.count("ending at once") == 1
    job.nothing_is_left()


def test_who_ignores_ctrl_c_gets_sigterm_then_sigkill(start: Start) -> None:
    job = listening(start, "stay", "--grace-s", "0.9")
    job.front.send_signal(signal.SIGINT)
    assert job.wait() == 130
    assert job.log("worker:0") == b"ready\ngot SIGINT\ngot SIGTERM\n"
    sent = [fact.signal for fact in job.facts(SignalSent) if str(fact.task) == "worker:0"]
    assert sent == [2, 15, 9]
    job.nothing_is_left()


def test_a_ctrl_c_at_the_first_moment_is_not_lost(start: Start, poll_until: Any) -> None:
    """The front passes it on as soon as there is somebody to pass it on to, and says so once."""
    job = start("--", "sleep", "600")
    poll_until((job.run_dir / "supervisor.log").exists, "the supervisor to be started")
    job.front.send_signal(signal.SIGINT)
    assert job.wait() == 130
    assert job.out.count("are asked to end") == 1
    assert [fact.by for fact in job.facts(StopAsked)] == ["Ctrl-C"]
    job.nothing_is_left()


@pytest.mark.parametrize("now", [False, True], ids=["gracefully", "now"])
def test_holdfast_stop_ends_a_job_from_outside(
    start: Start, holdfast: Holdfast, *, now: bool
) -> None:
    job = listening(start, "stay" if now else "end", "--grace-s", "600")
    stopped = holdfast("stop", *(["--now"] if now else []), str(job.run_dir))
    assert stopped.returncode == 0
    assert job.wait() == 143
    expected = b"ready\n" if now else b"ready\ngot SIGTERM\n"
    assert job.log("worker:0") == expected
    assert [fact.by for fact in job.facts(StopAsked)] == ["holdfast stop"]
    again = holdfast("stop", str(job.run_dir))
    assert again.returncode == 69
    assert "does not answer" in again.stderr
    job.nothing_is_left()


def test_user_signals_reach_every_task_and_the_job_goes_on(start: Start) -> None:
    job = listening(start, "end")
    for number in (signal.SIGUSR1, signal.SIGUSR2):
        job.front.send_signal(number)
        for task in ("worker:0", "worker:1"):
            job.until_says(task, f"got {number.name}".encode())
    (start.place / "over").touch()
    assert job.wait() == 0
    assert job.report["verdict"] == "healthy"
    job.nothing_is_left()


def test_a_task_that_fails_after_a_user_signal_has_failed(start: Start) -> None:
    job = listening(start, "fail")
    job.front.send_signal(signal.SIGUSR1)
    job.until_says("worker:0", b"got SIGUSR1")
    (start.place / "over").touch()
    assert job.wait() == 1
    assert job.report["findings"][0]["cause"] == "ended-badly"


def test_a_worker_may_take_its_time_after_ctrl_c_whoever_else_has_ended(start: Start) -> None:
    """It may be saving: SIGTERM on top of that would cut it short within its grace."""
    slow = "trap 'sleep 1; echo saved; exit 0' INT; echo ready; while :; do sleep 0.05; done"
    fast = "trap 'exit 0' INT; echo ready; while :; do sleep 0.05; done"
    script = f"case $HOLDFAST_TASK in *1) {slow} ;; *) {fast} ;; esac"
    job = start("--workers", "2", "--grace-s", "20", "--", "sh", "-c", script)
    for task in ("worker:0", "worker:1"):
        job.until_says(task, b"ready")
    job.front.send_signal(signal.SIGINT)
    assert job.wait() == 130
    assert job.log("worker:1") == b"ready\nsaved\n"


def test_a_task_that_dies_of_a_user_signal_has_not_finished(start: Start) -> None:
    job = start("--", "sh", "-c", "echo ready; exec sleep 600")
    job.until_says("worker:0", b"ready")
    job.front.send_signal(signal.SIGUSR1)
    assert job.wait() == 138


def test_sigterm_to_the_supervisor_is_a_wish_to_end_the_job(start: Start) -> None:
    job = listening(start, "end")
    os.kill(job.helper("holdfast.supervisor"), signal.SIGTERM)
    assert job.wait() == 143
    assert job.log("worker:0") == b"ready\ngot SIGTERM\n"
    assert job.facts(StopAsked)[0].by == "SIGTERM to the supervisor"
    job.nothing_is_left()


def test_nohup_keeps_the_front_when_the_terminal_goes(start: Start) -> None:
    script = str(Path(sys.executable).with_name("holdfast"))
    job = listening(start, "end", front=("nohup", script))
    job.front.send_signal(signal.SIGHUP)
    (start.place / "over").touch()
    assert job.wait() == 0
    assert "healthy" in job.out


def test_a_hang_up_takes_the_front_and_leaves_the_job(start: Start) -> None:
    job = listening(start, "end")
    job.front.send_signal(signal.SIGHUP)
    assert job.wait() == 129
    (start.place / "over").touch()
    assert job.until_fact(AttemptEnded).exit_code == 0
    assert job.log("worker:0") == b"ready\n"

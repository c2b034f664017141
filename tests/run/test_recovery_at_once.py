"""What is sure is decided while tasks still live, and carried out once: real processes."""

import os
import signal
import sys
import time
from typing import Any

import pytest

from holdfast.model.facts import (
    AttemptStarted,
    LeftoverEnded,
    SignalSent,
    TaskExited,
    TaskStarted,
)
from holdfast.model.recovery_facts import RemedyDecided
from holdfast.model.watch_facts import TakenOver

pytestmark = pytest.mark.timeout(120)
Start = Any
SUPERVISOR = "holdfast.supervisor"
# Everybody trains until somebody says that it is late; from the second attempt on it always is.
TRAIN = """
import os, signal, sys, time
if "stubborn" in sys.argv:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("attempt", os.environ["HOLDFAST_ATTEMPT"], flush=True)
while os.environ["HOLDFAST_ATTEMPT"] == "1" and not os.path.exists("late"):
    time.sleep(0.02)
print("trained", flush=True)
"""
MIRRORED, CLUSTER = ("# MultiWorkerMirroredStrategy", "# ParameterServerStrategy")
AT_ONCE_S = 2.0


def train(start: Start, *options: str, words: tuple[str, ...] = ()) -> Any:
    """Two workers that need each other, as far as anybody can see."""
    program = start.script("train.py", MIRRORED + TRAIN)
    job = start(
        "--workers", "2", "--on-failure", "recover", *options, "--", sys.executable, program, *words
    )
    for task in ("worker:0", "worker:1"):
        job.until_says(task, b"attempt 1\n")
    return job


def decided(job: Any) -> list[tuple[int, str]]:
    return [(fact.attempt, fact.remedy) for fact in job.facts(RemedyDecided)]


def attempts(job: Any) -> list[int]:
    return [fact.attempt for fact in job.facts(AttemptStarted)]


def signals(job: Any) -> list[tuple[str, int]]:
    return [(str(fact.task), fact.signal) for fact in job.facts(SignalSent)]


def test_a_relaunch_is_decided_at_once_although_the_others_hang_on(start: Start) -> None:
    job = train(start, "--grace-s", "1", words=("stubborn",))
    os.kill(job.pid_of("worker:1"), signal.SIGKILL)
    assert job.wait() == 0
    assert decided(job) == [(1, "relaunch")]
    assert attempts(job) == [1, 2]
    (relaunch,) = job.facts(RemedyDecided)
    ends = {str(fact.task): fact for fact in job.facts(TaskExited) if fact.attempt == 1}
    assert relaunch.at_s - ends["worker:1"].at_s < AT_ONCE_S
    assert signals(job)[:2] == [("worker:0", signal.SIGTERM), ("worker:0", signal.SIGKILL)]
    (told,) = job.report["recovery"]
    assert told["seconds"]["end"] >= 1
    assert job.report["verdict"] == "healthy"
    job.nothing_is_left()


def test_a_worker_that_stays_stopped_is_ended_and_the_job_is_relaunched(start: Start) -> None:
    job = train(start)
    os.kill(job.pid_of("worker:1"), signal.SIGSTOP)
    assert job.wait() == 0
    assert decided(job) == [(1, "wait"), (1, "wait"), (1, "relaunch")]
    assert {fact.cause for fact in job.facts(RemedyDecided)} == {"stopped"}
    assert attempts(job) == [1, 2]
    assert ("worker:1", signal.SIGCONT) in signals(job)
    ends = {str(fact.task): fact for fact in job.facts(TaskExited) if fact.attempt == 1}
    assert ends["worker:1"].signal == signal.SIGTERM, "it heard what it was asked"
    first, _, relaunch = job.facts(RemedyDecided)
    assert 14.5 <= relaunch.at_s - first.at_s < 30
    assert job.report["recovery"][2]["seconds"]["decide"] >= 14.5
    assert "recovery: look again in 5 s: worker:1 is stopped" in job.out
    job.nothing_is_left()


def test_a_worker_that_is_stopped_for_a_moment_is_left_alone(start: Start, poll_until: Any) -> None:
    job = train(start)
    pid = job.pid_of("worker:1")
    os.kill(pid, signal.SIGSTOP)
    wait = job.until_fact(RemedyDecided)
    os.kill(pid, signal.SIGCONT)
    over_s = time.monotonic() + wait.wait_s + 1
    poll_until(lambda: time.monotonic() >= over_s, "the wait to be over")
    (start.place / "late").touch()
    assert job.wait() == 0
    assert decided(job) == [(1, "wait")]
    assert attempts(job) == [1]
    assert signals(job) == []
    job.nothing_is_left()


def test_a_dry_run_says_what_it_would_do_about_one_who_hangs_and_ends_nobody(
    start: Start, poll_until: Any
) -> None:
    job = train(start, "--dry-run")
    os.kill(job.pid_of("worker:1"), signal.SIGSTOP)
    poll_until(lambda: (1, "relaunch") in decided(job), "the relaunch to be told")
    os.kill(job.pid_of("worker:1"), signal.SIGCONT)
    (start.place / "late").touch()
    assert job.wait() == 0
    told = [(fact.remedy, fact.dry_run) for fact in job.facts(RemedyDecided)]
    assert told == [("wait", False), ("wait", False), ("relaunch", True)]
    assert attempts(job) == [1]
    assert signals(job) == []
    assert job.out.count("recovery: dry run, not done: relaunch all tasks") == 1
    job.nothing_is_left()


def test_who_takes_over_after_the_decision_carries_it_out_once(
    start: Start, poll_until: Any
) -> None:
    job = train(start, "--grace-s", "3", "--max-relaunches", "1", words=("stubborn",))
    os.kill(job.pid_of("worker:1"), signal.SIGKILL)
    job.until_fact(RemedyDecided)
    supervisor = job.helper(SUPERVISOR)
    os.kill(supervisor, signal.SIGKILL)
    poll_until(lambda: supervisor not in job.left(), "the supervisor to be gone")
    assert attempts(job) == [1], "the others hang on"
    joined = start.join(job, "attach", str(job.run_dir))
    assert joined.wait() == 0
    assert len(job.facts(TakenOver)) == 1
    assert decided(job) == [(1, "relaunch")]
    assert attempts(job) == [1, 2]
    job.nothing_is_left()


def test_a_stopped_worker_that_may_come_back_alone_is_ended_alone(
    start: Start, poll_until: Any
) -> None:
    program = start.script("train.py", CLUSTER + TRAIN)
    words = ("--on-failure", "recover", "--", sys.executable, program)
    job = start("--ps", "1", "--chief", "--workers", "2", *words)
    for task in ("ps:0", "chief:0", "worker:0", "worker:1"):
        job.until_says(task, b"attempt 1\n")
    os.kill(job.pid_of("worker:1"), signal.SIGSTOP)
    poll_until(lambda: job.log("worker:1").count(b"attempt 1\n") == 2, "worker:1 to be back")
    assert signals(job) == [("worker:1", signal.SIGTERM), ("worker:1", signal.SIGCONT)]
    (start.place / "late").touch()
    assert job.wait() == 0
    assert decided(job) == [(1, "wait"), (1, "wait"), (1, "restart")]
    assert attempts(job) == [1]
    assert len(job.facts(TaskStarted)) == 5, "nobody else was started again"
    assert job.report["verdict"] == "healthy"
    job.nothing_is_left()


def test_what_a_stopped_task_left_behind_is_gone_before_it_is_started_again(
    start: Start, poll_until: Any
) -> None:
    """Its wrapper hears SIGTERM, and the program below it hears nothing: it is stopped."""
    program = start.script("train.py", CLUSTER + TRAIN)
    wrapper = start.script("wrapper.sh", f'#!/bin/sh\n{sys.executable} "$1"\nexit $?\n')
    words = ("--on-failure", "recover", "--", wrapper, program)
    job = start("--ps", "1", "--chief", "--workers", "2", *words)
    for task in ("ps:0", "chief:0", "worker:0", "worker:1"):
        job.until_says(task, b"attempt 1\n")
    (below,) = [pid for pid in job.left() if os.getsid(pid) == job.pid_of("worker:1") != pid]
    os.kill(below, signal.SIGSTOP)
    poll_until(lambda: job.log("worker:1").count(b"attempt 1\n") == 2, "worker:1 to be back")
    assert below not in job.left()
    (left,) = job.facts(LeftoverEnded)
    assert (left.pid, left.signal) == (below, signal.SIGKILL)
    (start.place / "late").touch()
    assert job.wait() == 0
    job.nothing_is_left()

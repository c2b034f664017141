"""Servers never end by themselves: when the training is over, so are they."""

import sys
from typing import Any

import pytest

from holdfast.model.facts import SignalSent, TaskExited, TaskIdle

pytestmark = pytest.mark.timeout(90)
Start = Any
Jobs = dict[str, Any]

# What each role does, by its name. `serve` blocks as a TensorFlow server in join() does.
ROLES = """
import os, signal, sys, threading, time
role = os.environ["HOLDFAST_TASK"].partition(":")[0]
does = dict(pair.split("=") for pair in sys.argv[1:])[role]
print(role, does, flush=True)
if does == "serve":
    threading.Event().wait()
elif does == "stay":
    signal.signal(signal.SIGTERM, lambda *_: print("SIGTERM ignored", flush=True))
    while True:
        threading.Event().wait(1)
elif does == "nap":
    time.sleep(9)
    print("worked after its nap", flush=True)
elif does == "evaluate":
    while True:
        time.sleep(0.5)
elif does == "last":
    burn_until = time.monotonic() + 8
    while time.monotonic() < burn_until:
        pass
    print("evaluated", flush=True)
    time.sleep(600)
elif does == "fail":
    raise ValueError("no data")
"""


@pytest.fixture(scope="module")
def jobs(start_early: Start) -> Jobs:
    """All at once: each of them takes seconds of waiting."""
    program = (sys.executable, start_early.script("roles.py", ROLES))
    chief_and_ps = ("--chief", "--ps", "1", "--workers", "1", "--grace-s", "2", "--")
    wrapped = ("sh", "-c", '"$@"; exit $?', "sh", *program)
    return {
        "whole": start_early(
            *("--evaluator", *chief_and_ps, *program),
            *("chief=end", "worker=end", "ps=serve", "evaluator=evaluate"),
        ),
        "stubborn": start_early(*chief_and_ps, *program, "chief=end", "worker=end", "ps=stay"),
        "coordinator": start_early(
            *chief_and_ps, *program, "chief=end", "worker=serve", "ps=serve"
        ),
        "wrapped": start_early(*chief_and_ps, *wrapped, "chief=end", "worker=serve", "ps=serve"),
        "nap": start_early(*chief_and_ps, *program, "chief=end", "worker=nap", "ps=serve"),
        "evaluator": start_early(
            *("--evaluator", "--workers", "1", "--grace-s", "1", "--", *program),
            *("worker=end", "evaluator=last"),
        ),
    }


def exit_of(job: Any, task: str) -> TaskExited:
    found: TaskExited = next(fact for fact in job.facts(TaskExited) if str(fact.task) == task)
    return found


def signals_to(job: Any, task: str) -> list[SignalSent]:
    return [fact for fact in job.facts(SignalSent) if str(fact.task) == task]


def test_servers_and_evaluator_are_stopped_when_the_training_is_over(jobs: Jobs) -> None:
    job = jobs["whole"]
    assert job.wait() == 0, job.out
    assert job.report["verdict"] == "healthy"
    assert job.report["findings"] == []
    assert exit_of(job, "ps:0").signal == exit_of(job, "evaluator:0").signal == 15
    assert exit_of(job, "worker:0").exit_code == 0
    assert signals_to(job, "worker:0") == signals_to(job, "chief:0") == []
    job.nothing_is_left()


def test_a_server_that_ignores_sigterm_is_killed_after_its_grace(jobs: Jobs) -> None:
    job = jobs["stubborn"]
    assert job.wait() == 0, job.out
    asked, killed = signals_to(job, "ps:0")
    assert (asked.signal, killed.signal) == (15, 9)
    assert 2.0 <= killed.at_s - asked.at_s < 12.0
    assert b"SIGTERM ignored\n" in job.log("ps:0")
    assert job.report["verdict"] == "healthy"
    job.nothing_is_left()


@pytest.mark.parametrize("how", ["coordinator", "wrapped"])
def test_workers_that_serve_a_coordinator_are_stopped_once_it_is_done(jobs: Jobs, how: str) -> None:
    """Also behind a shell, which waits for its child and burns nothing either."""
    job = jobs[how]
    assert job.wait() == 0, job.out
    done, asked = exit_of(job, "chief:0"), signals_to(job, "worker:0")[0]
    assert asked.signal == 15
    assert asked.at_s - done.at_s >= 4.0
    assert str(job.facts(TaskIdle)[-1].task) == "worker:0"
    assert job.report["verdict"] == "healthy"
    job.nothing_is_left()


def test_a_worker_that_sleeps_on_a_timer_is_waited_for(jobs: Jobs) -> None:
    job = jobs["nap"]
    assert job.wait() == 0, job.out
    assert job.log("worker:0").endswith(b"worked after its nap\n")
    assert exit_of(job, "worker:0").exit_code == 0
    assert signals_to(job, "worker:0") == []
    job.nothing_is_left()


def test_an_evaluator_may_finish_its_last_evaluation(jobs: Jobs) -> None:
    job = jobs["evaluator"]
    assert job.wait() == 0, job.out
    assert job.log("evaluator:0").endswith(b"evaluated\n")
    assert exit_of(job, "evaluator:0").signal == 15
    job.nothing_is_left()

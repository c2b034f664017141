"""What goes on when a part of us is killed, and what can still be said about it afterwards."""

import json
import os
import signal
import time
from collections.abc import Callable
from typing import Any

import pytest

from holdfast.model.facts import AttemptEnded, OutputEnded, ProbeBlind

pytestmark = pytest.mark.timeout(60)
Start = Any
Terminal = Any
Holdfast = Callable[..., Any]


def waiting(start: Start, then: str, *options: str, **settings: Any) -> Any:
    """Two workers that go on once they may: before it `ready`, after it whatever `then` does."""
    go = start.place / "go"
    wait = f"echo ready; until [ -e {go} ]; do sleep 0.02; done; seq 1 5000"
    job = start("--workers", "2", *options, "--", "sh", "-c", f"{wait}; {then}", **settings)
    for task in ("worker:0", "worker:1"):
        job.until_says(task, b"ready")
    return job


def whole(job: Any) -> bool:
    """Whether all that both workers wrote is in their logs."""
    expected = "ready\n" + "".join(f"{number}\n" for number in range(1, 5001))
    return all(job.log(task).decode() == expected for task in ("worker:0", "worker:1"))


@pytest.mark.parametrize(
    ("then", "verdict"),
    [("exit 0", "healthy"), ("[ $HOLDFAST_TASK = worker:0 ] || kill -9 $$", "sick")],
    ids=["healthy", "sick"],
)
def test_without_its_front_the_job_goes_on_to_its_end(
    start: Start, holdfast: Holdfast, poll_until: Any, then: str, verdict: str
) -> None:
    job = waiting(start, then)
    job.front.kill()
    assert job.wait() == 137
    (start.place / "go").touch()
    assert job.until_fact(AttemptEnded).exit_code == (0 if verdict == "healthy" else 137)
    assert whole(job)
    assert len(job.facts(OutputEnded)) == 4
    poll_until(lambda: job.left() == [], "the supervisor to go")
    job.nothing_is_left()
    said = holdfast("diagnose", "--format", "json", str(job.run_dir))
    assert said.returncode == (0 if verdict == "healthy" else 1)
    assert json.loads(said.stdout) == job.report
    assert job.report["verdict"] == verdict
    if verdict == "sick":
        assert job.root == ("killed-by-signal", "worker:1")


def test_without_its_supervisor_the_tasks_go_on_and_the_front_says_so(
    start: Start, holdfast: Holdfast, poll_until: Any
) -> None:
    job = waiting(start, "touch over-$HOLDFAST_TASK; until [ -e end ]; do sleep 0.02; done")
    os.kill(job.helper("holdfast.supervisor"), signal.SIGKILL)
    assert job.wait() == 69
    assert "the supervisor ended unexpectedly (-9); tasks that had started run on" in job.err
    assert "holdfast diagnose" in job.err
    said = json.loads(holdfast("diagnose", "--format", "json", str(job.run_dir)).stdout)
    assert "how worker:0, worker:1 ended" in said["unknown"][0]
    (start.place / "go").touch()
    for task in ("worker:0", "worker:1"):
        poll_until((start.place / f"over-{task}").exists, f"{task} to go on")
    assert whole(job)
    text = holdfast("diagnose", str(job.run_dir))
    assert "how worker:0, worker:1 ended" in text.stdout
    assert holdfast("stop", str(job.run_dir)).returncode == 69
    (start.place / "end").touch()
    poll_until(lambda: len(job.left()) == 1, "the tasks to end by themselves")
    assert job.left() == [job.helper("holdfast.agent.hold")], "how they ended is kept"
    assert holdfast("attach", str(job.run_dir)).returncode == 0
    job.nothing_is_left()


def test_without_its_reader_a_job_ends_as_it_would_have(start: Start) -> None:
    """The logs are whole; only the telling lines may be missing, which is said."""
    job = waiting(start, "exit 3")
    os.kill(job.helper("holdfast.agent.scan"), signal.SIGKILL)
    blind = job.until_fact(ProbeBlind)
    while blind.probe != "output reader":
        blind = next(fact for fact in job.facts(ProbeBlind) if fact.probe == "output reader")
    (start.place / "go").touch()
    assert job.wait() == 1
    assert whole(job)
    assert any("output reader" in unknown for unknown in job.report["unknown"])
    job.nothing_is_left()


def test_a_closed_terminal_does_not_end_the_job(start: Start, terminal: Terminal) -> None:
    job = waiting(start, "exit 0", **terminal.settings)
    terminal.until_shows("ready")
    terminal.close()
    assert job.wait() == 129
    (start.place / "go").touch()
    assert job.until_fact(AttemptEnded).exit_code == 0
    assert whole(job)


def test_a_stopped_front_misses_nothing(start: Start) -> None:
    """Ctrl-Z and fg: the job goes on meanwhile, and ends with the right code."""
    job = waiting(start, "kill -9 $$")
    job.front.send_signal(signal.SIGSTOP)
    (start.place / "go").touch()
    assert job.until_fact(AttemptEnded).exit_code == 137
    job.front.send_signal(signal.SIGCONT)
    assert job.wait() == 137
    assert job.out.count("│ 5000\n") == 2


def test_the_end_is_never_taken_for_the_supervisors_death(start: Start) -> None:
    """Short jobs, many at once: the front reads the last fact after the supervisor is gone."""
    jobs = [start("--quiet", "--", "true") for _ in range(6)]
    began_s = time.monotonic()
    assert [job.wait() for job in jobs] == [0] * 6, [job.err for job in jobs]
    assert time.monotonic() - began_s < 40

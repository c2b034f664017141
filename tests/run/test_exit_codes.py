"""How each kind of end becomes an exit code, and a finding at the right task."""

import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.timeout(60)
Start = Any


def test_success_is_0_and_healthy(start: Start) -> None:
    job = start("--workers", "2", "--", "true")
    assert job.wait() == 0
    assert job.report["verdict"] == "healthy"
    assert job.report["findings"] == []
    assert job.err == ""
    job.nothing_is_left()


def test_an_exception_is_1(start: Start) -> None:
    job = start("--", sys.executable, "-c", "raise ValueError('no data')")
    assert job.wait() == 1
    assert job.root == ("user-exception", "worker:0")
    assert "ValueError: no data" in job.out
    job.nothing_is_left()


def test_an_end_that_nothing_explains_is_1_and_said_to_be_unknown(start: Start) -> None:
    job = start("--", "sh", "-c", "echo some last words >&2; exit 7")
    assert job.wait() == 1
    assert job.report["verdict"] == "cannot-tell"
    assert "exit code 7" in job.report["unknown"][0]
    assert "some last words" in job.out


def test_a_command_that_cannot_be_executed(start: Start) -> None:
    places = {
        "missing": (None, 0, 127),
        "not-executable": ("#!/bin/sh\n", 0o644, 126),
        "no-program": ("no program\n", 0o755, 126),
        "no-interpreter": ("#!/no/such/interpreter\n", 0o755, 127),
    }
    for name, (content, mode, _) in places.items():
        if content is not None:
            (start.place / name).write_text(content)
            (start.place / name).chmod(mode)
        start("--ps", "1", "--workers", "2", "--", f"./{name}")
    for job, (name, (_, _, code)) in zip(start.jobs, places.items(), strict=True):
        assert job.wait() == code, name
        assert job.root[0] == "command-not-found"
        assert f"./{name}" in job.out
        job.nothing_is_left()


def test_a_worker_killed_by_hand_is_137_at_that_worker(start: Start) -> None:
    go = start.place / "go"
    job = start("--workers", "2", "--", "sh", "-c", f"until [ -e {go} ]; do sleep 0.05; done")
    os.kill(job.pid_of("worker:1"), signal.SIGKILL)
    go.touch()
    assert job.wait() == 137
    assert job.root == ("killed-by-signal", "worker:1")
    finding = job.report["findings"][0]
    assert "out of memory" not in finding["says"]
    assert finding["family"] == "preempted"
    assert job.report["healthy"] == ["worker:0"]
    job.nothing_is_left()


def test_a_worker_lost_from_a_job_that_its_chief_finishes_is_0_and_said(start: Start) -> None:
    go = start.place / "go"
    wait = f"[ $HOLDFAST_TASK = ps:0 ] && exec sleep 60; until [ -e {go} ]; do sleep 0.05; done"
    job = start("--chief", "--ps", "1", "--workers", "2", "--", "sh", "-c", wait)
    os.kill(job.pid_of("worker:1"), signal.SIGKILL)
    go.touch()
    assert job.wait() == 0
    assert job.root == ("killed-by-signal", "worker:1")
    assert job.report["findings"][0]["severity"] == "warning"
    assert "done, with one worker lost: chief:0 finished the training" in job.out
    assert "start again" not in job.out.partition("warning[")[2]
    page = (job.run_dir / "report.html").read_text()
    assert "Done, with one worker lost: chief:0 finished the training." in page
    job.nothing_is_left()


def test_a_crash_is_128_plus_its_signal(start: Start) -> None:
    job = start("--", sys.executable, "-c", "import os; os.abort()")
    assert job.wait() == 134
    assert job.root == ("crashed", "worker:0")


def test_a_working_directory_that_goes_away_does_not_take_us_with_it(
    start: Start, tmp_path: Path
) -> None:
    work = tmp_path / "work"
    work.mkdir()
    job = start("--", "sh", "-c", f"rmdir {work}; exit 5", cwd=work)
    assert job.wait() == 1
    assert "exit code 5" in job.report["unknown"][0]
    job.nothing_is_left()
